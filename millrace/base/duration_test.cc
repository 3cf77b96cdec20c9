#include "millrace/base/duration.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"

namespace millrace::base {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(DurationTest, PrintsWhatIsShortAsItIs) {
  EXPECT_EQ(ToString(absl::Milliseconds(1500)), "1.5s");
  EXPECT_EQ(ToString(absl::Milliseconds(200)), "200ms");
  EXPECT_EQ(ToString(absl::Nanoseconds(7)), "7ns");
  EXPECT_EQ(ToString(absl::ZeroDuration()), "0");
  EXPECT_EQ(ToString(absl::Minutes(125)), "2h5m");
}

TEST(DurationTest, PrintsThreeDigits) {
  EXPECT_EQ(ToString(absl::Nanoseconds(1'234'567'891)), "1.23s");
  EXPECT_EQ(ToString(absl::Nanoseconds(12'345'678)), "12.3ms");
  EXPECT_EQ(ToString(absl::Nanoseconds(123'456)), "123us");
  EXPECT_EQ(ToString(absl::Nanoseconds(1'999)), "2us");
  EXPECT_EQ(ToString(absl::Nanoseconds(999'600'000)), "1s");
}

TEST(DurationTest, PrintsLongOnesInWholeSecondsAndMinutes) {
  EXPECT_EQ(ToString(absl::Milliseconds(59'960)), "1m");
  EXPECT_EQ(ToString(absl::Milliseconds(61'400)), "1m1s");
  EXPECT_EQ(ToString(absl::Seconds(3'600 + 89)), "1h1m");
  EXPECT_EQ(ToString(absl::Hours(100)), "100h");
}

TEST(DurationTest, PrintsNegativesAndTheInfinite) {
  EXPECT_EQ(ToString(absl::Milliseconds(-1500)), "-1.5s");
  EXPECT_EQ(ToString(absl::InfiniteDuration()), "inf");
  EXPECT_EQ(ToString(-absl::InfiniteDuration()), "-inf");
}

TEST(DurationTest, ParsesWhatPeopleWrite) {
  EXPECT_THAT(ParseDuration("1.5s"), IsOkAndHolds(absl::Milliseconds(1500)));
  EXPECT_THAT(ParseDuration(" 200 ms "), IsOkAndHolds(absl::Milliseconds(200)));
  EXPECT_THAT(ParseDuration("1h 30m"), IsOkAndHolds(absl::Minutes(90)));
  EXPECT_THAT(ParseDuration("0"), IsOkAndHolds(absl::ZeroDuration()));
  EXPECT_THAT(ParseDuration("-3us"), IsOkAndHolds(absl::Microseconds(-3)));
  EXPECT_THAT(ParseDuration("inf"), IsOkAndHolds(absl::InfiniteDuration()));
}

TEST(DurationTest, ParsesTheExactForm) {
  for (const absl::Duration duration :
       {absl::Nanoseconds(1), absl::Nanoseconds(123'456'789'012'345), absl::Hours(-7),
        absl::ZeroDuration(), absl::InfiniteDuration()}) {
    EXPECT_THAT(ParseDuration(absl::FormatDuration(duration)), IsOkAndHolds(duration));
  }
}

TEST(DurationTest, ParsingSaysWhatIsWrong) {
  for (const std::string& text :
       std::vector<std::string>{"", "5", "s", "5 parsecs", "1.5.5s", "5s!", "1e3s"}) {
    EXPECT_THAT(ParseDuration(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                              AllOf(HasSubstr("as in 1.5s"),
                                                    HasSubstr("\"" + text + "\""))));
  }
}

// Three digits are off by half a percent at most; whole minutes by half of one.
TEST(DurationTest, ParsingWhatWasPrintedComesClose) {
  Generator generator(RandomKey(1, 0, 0), {});
  for (int trial = 0; trial < 2000; ++trial) {
    const absl::Duration duration =
        absl::Nanoseconds(generator.Integer(1, int64_t{1} << generator.Integer(1, 55)));
    const auto parsed = ParseDuration(ToString(duration));
    ASSERT_THAT(parsed, IsOk());
    EXPECT_LE(absl::AbsDuration(*parsed - duration), duration / 100) << duration;
  }
}

}  // namespace
}  // namespace millrace::base
