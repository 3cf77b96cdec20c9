#include "millrace/bench/rate.h"

#include <array>
#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/exec/engine.h"

namespace millrace::bench {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

TEST(RateTest, APassIsRunToItsEnd) {
  exec::Engine engine({.threads = 1});
  // The last row is wrong: only who reads them all finds out.
  EXPECT_THAT(PassRate("%0 = range(stop=5000)\n"
                       "%1 = map(%0, function={x: 1 // (.value - 4999)})\n",
                       engine, 5000),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("map (%1)")));
}

TEST(RateTest, RowsAreThoseThatTheCallerCounts) {
  exec::Engine engine({.threads = 1});
  const std::string text = "%0 = range(stop=1000)\n%1 = batch(%0, size=10)\n";
  const absl::StatusOr<double> rate = PassRate(text, engine, 1000);
  ASSERT_THAT(rate, IsOk());
  EXPECT_GT(*rate, 0);
  const absl::StatusOr<double> none = PassRate(text, engine, 0);
  ASSERT_THAT(none, IsOk());
  EXPECT_EQ(*none, 0);
}

TEST(RateTest, APipelineThatIsNoneIsAnError) {
  exec::Engine engine({.threads = 1});
  EXPECT_THAT(PassRate("%0 = rnge(stop=5)", engine, 5),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rnge")));
}

TEST(RateTest, ALoopRunsOnceOnEveryThread) {
  std::array<std::atomic<int>, 5> runs = {};
  ASSERT_THAT(LoopRate(5, 1,
                       [&](int thread) {
                         ++runs.at(thread);
                         return absl::OkStatus();
                       }),
              IsOk());
  for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
}

TEST(RateTest, TheRateIsThatOfTheSlowestThread) {
  const absl::StatusOr<double> rate = LoopRate(3, 30, [](int thread) {
    if (thread == 1) absl::SleepFor(absl::Milliseconds(50));
    return absl::OkStatus();
  });
  ASSERT_THAT(rate, IsOk());
  EXPECT_LE(*rate, 30 / 0.050);
  EXPECT_GT(*rate, 1);
}

TEST(RateTest, TheFirstErrorIsTheLoops) {
  EXPECT_THAT(LoopRate(4, 1,
                       [](int thread) {
                         if (thread < 2) return absl::OkStatus();
                         return thread == 2 ? absl::DataLossError("two")
                                            : absl::UnavailableError("three");
                       }),
              StatusIs(absl::StatusCode::kDataLoss, "two"));
}

TEST(RateTest, ImagesHaveMemoryForEachThread) {
  EXPECT_EQ(ImageEngine(3).threads, 3);
  EXPECT_EQ(ImageEngine(4).memory_bytes, 4 * ImageEngine(1).memory_bytes);
}

}  // namespace
}  // namespace millrace::bench
