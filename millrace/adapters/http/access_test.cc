#include "millrace/adapters/http/access.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

using base::StatusIs;
using testing::HasSubstr;

// 200, or the code of HTTP that a request with these headers gets.
int CodeFor(const AccessRules& rules, const std::vector<Header>& headers,
            const std::string& method = "GET", bool open_to_all = false) {
  Request request;
  request.method = method;
  request.headers = headers;
  const std::optional<Refusal> refusal = CheckAccess(rules, request, open_to_all);
  if (!refusal) return 200;
  return ErrorResponse(refusal->error, refusal->http_code).code;
}

TEST(AccessTest, KnowsItsOwnNames) {
  const AccessRules rules = {.allowed_hosts = {"feeder.example"}};
  std::string machine(256, '\0');
  ASSERT_EQ(gethostname(machine.data(), machine.size()), 0);
  machine.resize(machine.find('\0'));
  for (const std::string& host :
       {std::string("127.0.0.1"), std::string("127.0.0.1:7400"),
        std::string("[::1]:80"), std::string("10.1.2.3"), std::string("LocalHost:7400"),
        machine, std::string("Feeder.example:1")}) {
    EXPECT_EQ(CodeFor(rules, {{"host", host}}), 200) << host;
  }
  for (const char* const host : {"", "evil.example", "127.0.0.1.evil.example",
                                 "localhost.evil", "feeder.example.evil", "[evil]"}) {
    EXPECT_EQ(CodeFor(rules, {{"Host", host}}), 403) << host;
  }
}

TEST(AccessTest, PagesOfOthersAreRefused) {
  const AccessRules rules = {.allowed_origins = {"https://tools.example"}};
  const auto code = [&](const std::string& origin) {
    return CodeFor(rules, {{"Host", "127.0.0.1:7400"}, {"Origin", origin}});
  };
  EXPECT_EQ(code("http://127.0.0.1:7400"), 200);
  EXPECT_EQ(code("https://tools.example"), 200);
  EXPECT_EQ(code("https://127.0.0.1:7400"), 403);
  EXPECT_EQ(code("http://127.0.0.1:7401"), 403);
  EXPECT_EQ(code("null"), 403);
  EXPECT_EQ(CodeFor({.uses_tls = true},
                    {{"Host", "127.0.0.1:7400"}, {"Origin", "https://127.0.0.1:7400"}}),
            200);
}

TEST(AccessTest, TheTokenMustFit) {
  const AccessRules rules = {.token = "secret"};
  const auto code = [&](const std::string& authorization) {
    return CodeFor(rules, {{"Host", "127.0.0.1"}, {"Authorization", authorization}});
  };
  EXPECT_EQ(code("Bearer secret"), 200);
  EXPECT_EQ(code("bearer secret"), 200);
  for (const char* const wrong :
       {"", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer SECRET",
        "Basic secret", "secret"}) {
    EXPECT_EQ(code(wrong), 401) << wrong;
  }
  EXPECT_EQ(CodeFor(rules, {{"Host", "127.0.0.1"}}, "GET", /*open_to_all=*/true), 200);
}

TEST(AccessTest, OnlyJsonIsPosted) {
  const auto code = [&](const std::string& type) {
    return CodeFor({}, {{"Host", "127.0.0.1"}, {"Content-Type", type}}, "POST");
  };
  EXPECT_EQ(code("application/json"), 200);
  EXPECT_EQ(code("Application/JSON ; charset=utf-8"), 200);
  EXPECT_EQ(code("text/plain"), 415);
  EXPECT_EQ(code("application/json-patch"), 415);
  EXPECT_EQ(code(""), 415);
}

TEST(AccessTest, ShowsLittleOfWhatItWasSent) {
  Request request;
  request.headers = {{"Host", std::string(10'000, 'x') + "\n"}};
  const std::optional<Refusal> refusal = CheckAccess({}, request, false);
  ASSERT_TRUE(refusal);
  EXPECT_LT(refusal->error.message().size(), 300);
}

TEST(AccessTest, SecretsAreComparedAsAWhole) {
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_FALSE(SameSecret("abd", "abc"));
  EXPECT_FALSE(SameSecret("ab", "abc"));
  EXPECT_TRUE(SameSecret("", ""));
}

}  // namespace
}  // namespace millrace::http
