#include "millrace/base/check.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "millrace/base/log.h"

namespace millrace::base {
namespace {

enum class Colour : uint8_t { kRed = 3 };

struct Opaque {
  int value = 0;
  bool operator==(const Opaque&) const = default;
};

TEST(CheckTest, HoldsInSilence) {
  CHECK(true) << "never printed";
  CHECK_EQ(1, 1);
  CHECK_NE(1, 2);
  CHECK_LT(1, 2);
  CHECK_LE(2, 2);
  CHECK_GT(2, 1);
  CHECK_GE(2, 2) << "never printed";
}

TEST(CheckTest, SaysWhereAndWhat) {
  const bool sorted = false;
  EXPECT_DEATH(CHECK(sorted), "check_test.cc:[0-9]+: check failed: sorted\n");
}

TEST(CheckTest, AddsWhatIsStreamed) {
  EXPECT_DEATH(CHECK(false) << "rows " << 3 << " of " << 4,
               "check failed: false rows 3 of 4\n");
}

TEST(CheckTest, PrintsTheValuesCompared) {
  const int rows = 3;
  EXPECT_DEATH(CHECK_EQ(rows, 4) << "in lane 7",
               "check failed: rows == 4 \\(3 vs. 4\\) in lane 7\n");
  EXPECT_DEATH(CHECK_NE(rows, 3), "rows != 3 \\(3 vs. 3\\)");
  EXPECT_DEATH(CHECK_LT(rows, 3), "rows < 3 \\(3 vs. 3\\)");
  EXPECT_DEATH(CHECK_LE(rows, 2), "rows <= 2 \\(3 vs. 2\\)");
  EXPECT_DEATH(CHECK_GT(rows, 3), "rows > 3 \\(3 vs. 3\\)");
  EXPECT_DEATH(CHECK_GE(rows, 4), "rows >= 4 \\(3 vs. 4\\)");
}

TEST(CheckTest, ComparesIntegersByValue) {
  const std::vector<int> items = {1, 2};
  CHECK_EQ(items.size(), 2);
  CHECK_LT(-1, items.size());
  CHECK_NE(int64_t{-1}, std::numeric_limits<uint64_t>::max());
  EXPECT_DEATH(CHECK_GT(-1, items.size()), "\\(-1 vs. 2\\)");
}

TEST(CheckTest, PrintsValuesOfManyTypes) {
  EXPECT_DEATH(CHECK_EQ(true, false), "\\(true vs. false\\)");
  EXPECT_DEATH(CHECK_EQ(uint8_t{65}, uint8_t{66}), "\\(65 vs. 66\\)");
  EXPECT_DEATH(CHECK_EQ('a', 'b'), "\\(a vs. b\\)");
  EXPECT_DEATH(CHECK_EQ(std::string("a"), "b"), "\\(a vs. b\\)");
  EXPECT_DEATH(CHECK_EQ(absl::Seconds(1), absl::Seconds(2)), "\\(1s vs. 2s\\)");
  EXPECT_DEATH(CHECK_NE(Colour::kRed, Colour::kRed), "\\(3 vs. 3\\)");
  EXPECT_DEATH(CHECK_NE(Opaque(), Opaque()), "\\(a value of 4 bytes vs. a value");
  EXPECT_DEATH(CHECK_NE(std::unique_ptr<int>(), nullptr), "vs. nullptr\\)");
}

TEST(CheckTest, EvaluatesItsArgumentsOnce) {
  int evaluations = 0;
  CHECK(++evaluations > 0);
  CHECK_EQ(++evaluations, 2);
  EXPECT_EQ(evaluations, 2);
}

TEST(CheckTest, LeavesAFollowingElseAlone) {
  bool reached = false;
  if (false)
    CHECK(false);
  else
    reached = true;
  EXPECT_TRUE(reached);
}

constexpr int Doubled(int number) {
  CHECK_LT(number, 100);
  return 2 * number;
}

static_assert(Doubled(4) == 8, "checks work in constant expressions");

[[maybe_unused]] int NeedsNoReturnAfterAFailure(bool fine) {
  if (fine) return 1;
  CHECK(false) << "not fine";
}

TEST(CheckTest, WritesTheLogsOutFirst) {
  EXPECT_DEATH(
      {
        SetLogSettings({.level = LogLevel::kInfo});
        Log(LogLevel::kInfo, "last words");
        CHECK(false);
      },
      "last words(.|\n)*check failed");
}

#ifdef NDEBUG
TEST(CheckTest, DebugChecksDoNotRunInReleaseBuilds) {
  int evaluations = 0;
  DCHECK(++evaluations < 0) << "never";
  DCHECK_EQ(++evaluations, -1);
  EXPECT_EQ(evaluations, 0);
}
#else
TEST(CheckTest, DebugChecksRunInDebugBuilds) {
  EXPECT_DEATH(DCHECK(1 > 2) << "why", "1 > 2 why");
  EXPECT_DEATH(DCHECK_EQ(1, 2), "\\(1 vs. 2\\)");
  EXPECT_DEATH(DCHECK_NE(1, 1), "\\(1 vs. 1\\)");
  EXPECT_DEATH(DCHECK_LT(1, 1), "\\(1 vs. 1\\)");
  EXPECT_DEATH(DCHECK_LE(1, 0), "\\(1 vs. 0\\)");
  EXPECT_DEATH(DCHECK_GT(1, 1), "\\(1 vs. 1\\)");
  EXPECT_DEATH(DCHECK_GE(0, 1), "\\(0 vs. 1\\)");
}
#endif

}  // namespace
}  // namespace millrace::base
