#include "millrace/api/openapi.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <boost/describe.hpp>
#include <boost/json.hpp>

#include "millrace/api/json.h"
#include "millrace/api/route.h"
#include "millrace/base/bytes.h"
#include "millrace/base/golden_file.h"
#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"

namespace millrace::api {

// In a namespace with a name: what the page says of them is said in it.
namespace openapi_test {

enum class Visit : uint8_t { kExactlyOnce, kAtMostOnce };

BOOST_DESCRIBE_ENUM(Visit, kExactlyOnce, kAtMostOnce)

enum class WorkerId : int64_t {};

struct Span {
  int64_t begin = 0;
  int64_t end = -1;
};

BOOST_DESCRIBE_STRUCT(Span, (), (begin, end))

struct Tree {
  std::string name = {};
  std::vector<Tree> children = {};
};

BOOST_DESCRIBE_STRUCT(Tree, (), (name, children))

struct JoinRequest {
  bool local = true;
  int32_t port = 80;
  uint64_t seed = 0;
  double rate = 0.5;
  std::string address = "localhost";
  Visit visit = Visit::kAtMostOnce;
  base::Bytes memory = {};
  base::Hash128 digest = {};
  base::Sha256 content = {};
  std::vector<Span> spans = {};
  std::map<std::string, std::vector<int64_t>> tags = {};
  std::optional<std::string> token = {};
  std::optional<Span> span = {};
  std::optional<Visit> later = {};
};

BOOST_DESCRIBE_STRUCT(JoinRequest, (),
                      (local, port, seed, rate, address, visit, memory, digest, content,
                       spans, tags, token, span, later))

struct JoinReply {
  WorkerId worker = {};
};

BOOST_DESCRIBE_STRUCT(JoinReply, (), (worker))

struct JobRequest {
  std::string name = {};
  int64_t lines = 10;
};

BOOST_DESCRIBE_STRUCT(JobRequest, (), (name, lines))

constexpr auto kRoutes = Routes(
    Route<JoinRequest, JoinReply>{"POST", "/v1/workers", "A worker joins."},
    Route<Nothing, Tree>{"GET", "/v1/workers", "Lists workers."},
    Route<JobRequest, Span>{"GET", "/v1/jobs/{name}/log", "Tells of a job."},
    Route<JobRequest, Nothing>{"POST", "/v1/jobs/{name}/log", "Writes to a job."},
    Route<Nothing, Nothing>{"POST", "/v1/drain", "Ends all."});

}  // namespace openapi_test

template <>
inline constexpr std::string_view kDoc<openapi_test::Span> = "Some rows.";
template <>
inline constexpr auto kMemberDocs<openapi_test::Span> = std::to_array<MemberDoc>(
    {{"begin", "The first."}, {"end", "The one after the last."}});

namespace {

using openapi_test::kRoutes;

std::string Page() {
  return OpenApiPage({.title = "A \"toy\"", .version = "7"}, kRoutes);
}

// With what is nested on lines of its own, for who reads the golden file.
std::string OnLines(const boost::json::value& value, const std::string& indent) {
  std::string text = boost::json::serialize(value);
  if (text.size() + indent.size() < 80 || !value.is_structured()) return text;
  const bool is_object = value.is_object();
  std::string lines = is_object ? "{" : "[";
  std::string comma = "\n";
  const auto add = [&](const std::string& name, const boost::json::value& item) {
    lines += comma + indent + "  " + name + OnLines(item, indent + "  ");
    comma = ",\n";
  };
  if (is_object) {
    for (const auto& member : value.get_object()) {
      add(boost::json::serialize(boost::json::value(member.key())) + ": ",
          member.value());
    }
  } else {
    for (const boost::json::value& item : value.get_array()) add("", item);
  }
  return lines + "\n" + indent + (is_object ? "}" : "]");
}

TEST(OpenapiTest, DoesWhatTheGoldenFileSays) {
  const std::string path = base::SourcePath("millrace/api/testdata/openapi.golden");
  EXPECT_THAT(base::CheckGolden(path,
                                [](const base::GoldenCase&) {
                                  return OnLines(boost::json::parse(Page()), "");
                                }),
              base::IsOk());
}

TEST(OpenapiTest, TheSameRoutesGiveTheSamePage) { EXPECT_EQ(Page(), Page()); }

TEST(OpenapiTest, EveryRouteAndEveryStructIsOnThePage) {
  const boost::json::value page = boost::json::parse(Page());
  size_t routes = 0;
  ForEachRoute(kRoutes, [&](const auto& route) {
    EXPECT_NE(page.at("paths").as_object().if_contains(route.path), nullptr);
    ++routes;
  });
  EXPECT_EQ(routes, 5);
  std::vector<std::string> names;
  for (const auto& schema : page.at("components").at("schemas").as_object()) {
    names.emplace_back(schema.key());
  }
  EXPECT_THAT(names, testing::ElementsAre("Error", "JobRequest", "JoinReply",
                                          "JoinRequest", "Nothing", "Span", "Tree"));
}

// As a server does: each route knows its types.
TEST(OpenapiTest, RoutesCanBeServedFromTheList) {
  std::string reply;
  ForEachRoute(kRoutes, [&](const auto& route) {
    using Called = std::decay_t<decltype(route)>;
    if (route.method != "POST" || route.path != "/v1/workers") return;
    const auto request = FromJson<typename Called::Request>(R"({"port": 1})");
    ASSERT_THAT(request, base::IsOk());
    reply = ToJson(typename Called::Reply{});
  });
  EXPECT_EQ(reply, R"({"worker":0})");
}

TEST(OpenapiTest, RoutesThatContradictThemselvesAreMistakes) {
  EXPECT_DEATH(OpenApiPage({}, Routes(Route<Nothing, Nothing>{"GET", "/{x}", ""})),
               "a name that is no member");
  EXPECT_DEATH(OpenApiPage({}, Routes(Route<Nothing, Nothing>{"GET", "/x", ""},
                                      Route<Nothing, Nothing>{"GET", "/x", ""})),
               "two routes for GET /x");
}

}  // namespace
}  // namespace millrace::api
