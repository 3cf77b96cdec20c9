#include "millrace/bench/line.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace::bench {
namespace {

using ::testing::HasSubstr;

Line Example() {
  return {.name = "tar",
          .unit = "rows/s",
          .ours = 123'456,
          .limit = 100'000,
          .limit_is = "a loop",
          .bar = 0.8};
}

TEST(LineTest, IsReachedAboveItsBarOrBelowIt) {
  Line line = Example();
  EXPECT_TRUE(line.reached());
  line.bar = 1.3;
  EXPECT_FALSE(line.reached());
  line.at_most = true;
  EXPECT_TRUE(line.reached());
}

TEST(LineTest, ComparesMediansOfTurns) {
  std::string order;
  int ours = 0;
  int limit = 0;
  const Medians medians = *Compare(
      3,
      [&]() -> absl::StatusOr<double> {
        order += "o";
        return std::vector<double>{1, 100, 2}[ours++];
      },
      [&]() -> absl::StatusOr<double> {
        order += "l";
        return std::vector<double>{5, 4, 6}[limit++];
      });
  EXPECT_EQ(order, "ololol");
  EXPECT_EQ(medians.ours, 2);
  EXPECT_EQ(medians.limit, 5);
}

TEST(LineTest, AnErrorEndsTheComparison) {
  const auto fails = [] { return absl::StatusOr<double>(absl::DataLossError("torn")); };
  EXPECT_EQ(Compare(3, fails, fails).status(), absl::DataLossError("torn"));
}

TEST(LineTest, IsShownAsTableAndAsJson) {
  EXPECT_THAT(ToTable({Example()}), HasSubstr("tar "));
  EXPECT_THAT(ToTable({Example()}), HasSubstr("123.5k     100.0k   1.235"));
  EXPECT_EQ(ToJson({Example()}),
            "[\n  {\"name\": \"tar\", \"unit\": \"rows/s\", \"ours\": 123456, "
            "\"limit\": 100000, \"limit_is\": \"a loop\", \"ratio\": 1.2346, "
            "\"bar\": 0.8, \"at_most\": false, \"reached\": true}\n]\n");
}

}  // namespace
}  // namespace millrace::bench
