#include "millrace/adapters/http/router.h"

#include <optional>
#include <utility>

#include "gtest/gtest.h"

#include "millrace/adapters/http/exchange.h"

namespace millrace::http {
namespace {

TEST(RouterTest, FindsByMethodAndPath) {
  Router router;
  router.Get("/a", [](const Request&, const Responder&) {});
  router.Post("/a", [](const Request&, const Responder&) {});
  router.GetOpenToAll("/b", [](const Request&, const Responder&) {});
  ASSERT_NE(router.Find("GET", "/a"), nullptr);
  EXPECT_NE(router.Find("GET", "/a"), router.Find("POST", "/a"));
  EXPECT_FALSE(router.Find("GET", "/a")->open_to_all);
  EXPECT_TRUE(router.Find("GET", "/b")->open_to_all);
  EXPECT_EQ(router.Find("POST", "/b"), nullptr);
  EXPECT_EQ(router.Find("GET", "/a/"), nullptr);
  EXPECT_TRUE(router.HasPath("/b"));
  EXPECT_FALSE(router.HasPath("/c"));
}

TEST(RouterTest, AResponderAnswersOnce) {
  int answers = 0;
  std::optional<Response> last;
  const auto count = [&](Response response) {
    ++answers;
    last = std::move(response);
  };
  {
    Responder first(count);
    Responder second(std::move(first));
    second.Send({.body = "yes"});
  }
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(last->body, "yes");
  {
    const Responder dropped(count);
  }
  EXPECT_EQ(answers, 2);
  EXPECT_EQ(last->code, 503);  // What a client asks again after.
}

}  // namespace
}  // namespace millrace::http
