#include "millrace/transport/prefix.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hex.h"
#include "millrace/base/status_matchers.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/transport/channel.h"

namespace millrace::transport {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using testing::HasSubstr;

constexpr Prefix kSample = {.payload_summed = true,
                            .head_bytes = 77,
                            .payload_bytes = int64_t{1} << 33,
                            .head_crc = 0x01020304};

// Changes one byte and makes the checksum fit again.
std::string With(std::string bytes, size_t at, uint8_t value) {
  bytes[at] = static_cast<char>(value);
  bytes.resize(kPrefixBytes - 4);
  codec::PutNumber(codec::Crc32c(bytes), 4, bytes);
  return bytes;
}

TEST(PrefixTest, ComesBackAsItWas) {
  EXPECT_THAT(ReadPrefix(WritePrefix(kSample), kPayloadBytesMax),
              IsOkAndHolds(kSample));
  const Prefix ping = {.kind = MessageKind::kPing};
  EXPECT_THAT(ReadPrefix(WritePrefix(ping), 0), IsOkAndHolds(ping));
}

// Other programs may read it: these bytes do not change within a version.
TEST(PrefixTest, HasTheseBytes) {
  const std::string bytes = WritePrefix(
      {.payload_summed = true, .head_bytes = 2, .payload_bytes = 64, .head_crc = 9});
  EXPECT_EQ(bytes.substr(0, 4), "mrst");
  EXPECT_EQ(bytes.substr(4, 24), std::string("\x01\x00\x00\x01\x02\x00\x00\x00"
                                             "\x40\x00\x00\x00\x00\x00\x00\x00"
                                             "\x09\x00\x00\x00\x00\x00\x00\x00",
                                             24));
}

TEST(PrefixTest, EveryChangedBitIsNoticed) {
  for (size_t bit = 0; bit < 8 * kPrefixBytes; ++bit) {
    std::string bytes = WritePrefix(kSample);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(ReadPrefix(bytes, kPayloadBytesMax),
                StatusIs(absl::StatusCode::kDataLoss))
        << bit;
  }
}

TEST(PrefixTest, SaysWhatItDoesNotKnow) {
  const std::string bytes = WritePrefix(kSample);
  EXPECT_THAT(ReadPrefix(With(bytes, 4, 2), kPayloadBytesMax),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("version 2")));
  EXPECT_THAT(ReadPrefix(With(bytes, 5, 2), kPayloadBytesMax),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("kind 2")));
  EXPECT_THAT(ReadPrefix(With(bytes, 6, 3), kPayloadBytesMax),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("codec 3")));
  EXPECT_THAT(ReadPrefix(With(bytes, 7, 2), kPayloadBytesMax),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("flags 2")));
}

TEST(PrefixTest, SizesHaveLimits) {
  Prefix prefix = kSample;
  EXPECT_THAT(ReadPrefix(WritePrefix(prefix), prefix.payload_bytes - 1),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("payload")));
  EXPECT_THAT(ReadPrefix(WritePrefix(prefix), prefix.payload_bytes),
              IsOkAndHolds(prefix));
  prefix.head_bytes = kHeadBytesMax + 1;
  EXPECT_THAT(ReadPrefix(WritePrefix(prefix), kPayloadBytesMax),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("head")));
  prefix = {.payload_bytes = -1};
  EXPECT_THAT(ReadPrefix(WritePrefix(prefix), kPayloadBytesMax),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("payload")));
}

TEST(PrefixTest, APingCarriesNothing) {
  EXPECT_THAT(ReadPrefix(WritePrefix({.kind = MessageKind::kPing, .head_bytes = 1}), 0),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("ping")));
}

}  // namespace
}  // namespace millrace::transport
