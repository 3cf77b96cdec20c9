#include "millrace/adapters/http/upgrade.h"

#include "gtest/gtest.h"

#include "millrace/adapters/http/exchange.h"

namespace millrace::http {
namespace {

TEST(UpgradeTest, FindsTheVersionThatIsKnown) {
  EXPECT_TRUE(OffersStream("millrace-stream/1"));
  EXPECT_TRUE(OffersStream("websocket, Millrace-Stream/1 ,x"));
  EXPECT_FALSE(OffersStream(""));
  EXPECT_FALSE(OffersStream("millrace-stream/2"));
  EXPECT_FALSE(OffersStream("millrace-stream/10"));
}

TEST(UpgradeTest, TheAnswerNamesTheVersion) {
  EXPECT_EQ(UpgradeResponse().code, 101);
  EXPECT_TRUE(OffersStream(Find(UpgradeResponse().headers, "upgrade")));
}

}  // namespace
}  // namespace millrace::http
