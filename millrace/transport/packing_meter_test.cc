#include "millrace/transport/packing_meter.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "millrace/transport/packing_choice.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {
namespace {

using State = PackingMeter::State;

constexpr auto kNone = PayloadCodec::kNone;
constexpr auto kLz4 = PayloadCodec::kLz4;
constexpr auto kZstd = PayloadCodec::kZstd;

// A stream on virtual time.
class Sending {
 public:
  explicit Sending(PackingMeterOptions options = {.codecs = {kLz4, kZstd}})
      : meter(std::move(options), now) {}

  // A second in which a link of 100 MB/s is waited for this part of the time.
  PackingChoice Second(double waiting) {
    meter.Set(State::kBlocked, now);
    now += waiting * absl::Seconds(1);
    meter.AddWritten(static_cast<int64_t>(waiting * 100e6));
    meter.Set(State::kIdle, now);
    now += (1 - waiting) * absl::Seconds(1);
    return meter.Choose(now);
  }

  void Sample() { meter.AddSamples({{kLz4, 2, 700e6}, {kZstd, 3, 400e6}}); }

  absl::Duration now = absl::Seconds(1000);
  PackingMeter meter;
};

TEST(PackingMeterTest, PacksOnceTheLinkIsTheLimitAndSamplesSayThatItGains) {
  Sending stream;
  EXPECT_EQ(stream.meter.Choose(stream.now).codec, kNone);
  EXPECT_FALSE(stream.meter.wants_samples());
  EXPECT_EQ(stream.Second(0.9).reason, "measuring what packing gains");
  ASSERT_TRUE(stream.meter.wants_samples());
  stream.Sample();
  EXPECT_FALSE(stream.meter.wants_samples());
  EXPECT_EQ(stream.Second(0.9).codec, kZstd);
  EXPECT_EQ(stream.Second(0.1).codec, kZstd) << "packed, it waits less";
}

TEST(PackingMeterTest, SamplesNothingWhereTheLinkIsNotTheLimit) {
  Sending stream;
  EXPECT_EQ(stream.Second(0.2).reason, "the link is not the limit");
  EXPECT_FALSE(stream.meter.wants_samples());
}

TEST(PackingMeterTest, LooksAgainNowAndThen) {
  Sending stream;
  stream.Second(0.9);
  stream.Sample();
  for (int i = 0; i < 30; ++i) EXPECT_EQ(stream.Second(0.9).codec, kZstd) << i;
  EXPECT_EQ(stream.Second(0.9).reason, "looking at the link again");
  EXPECT_EQ(stream.Second(0.3).codec, kNone) << "it has become faster";
  EXPECT_FALSE(stream.meter.wants_samples());
  stream.Second(0.9);
  EXPECT_TRUE(stream.meter.wants_samples()) << "payloads may have changed too";
}

TEST(PackingMeterTest, HoldsWithinAWindow) {
  Sending stream;
  stream.Second(0.9);
  stream.Sample();
  stream.meter.Set(State::kBlocked, stream.now);
  stream.now += absl::Milliseconds(499);
  EXPECT_EQ(stream.meter.Choose(stream.now).codec, kNone);
  stream.meter.AddWritten(50'000'000);
  stream.now += absl::Milliseconds(1);
  EXPECT_EQ(stream.meter.Choose(stream.now).codec, kZstd);
}

TEST(PackingMeterTest, NothingIsEverPackedOnOneHost) {
  Sending stream({.same_host = true, .codecs = {kLz4}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(stream.Second(1).reason, "both ends are on one host");
    EXPECT_FALSE(stream.meter.wants_samples());
  }
}

TEST(PackingMeterTest, NothingIsPackedForWhoUnpacksNothing) {
  Sending stream(PackingMeterOptions{});
  EXPECT_EQ(stream.Second(1).reason, "the other side unpacks nothing");
}

}  // namespace
}  // namespace millrace::transport
