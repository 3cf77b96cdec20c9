#include "millrace/adapters/http/upgrade.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/transport/prefix.h"

namespace millrace::http {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

TEST(UpgradeTest, BothSidesSayWhatTheyUnpack) {
  using transport::PayloadCodec;
  EXPECT_THAT(UnpackedBy(UpgradeResponse().headers),
              ElementsAre(PayloadCodec::kLz4, PayloadCodec::kZstd));
  EXPECT_THAT(UnpackedBy({{"millrace-unpacks", " brotli,zstd ,none, zstd"}}),
              ElementsAre(PayloadCodec::kZstd));
  EXPECT_THAT(UnpackedBy({}), IsEmpty());
}

}  // namespace
}  // namespace millrace::http
