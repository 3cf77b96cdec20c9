#include "millrace/exec/pass_run.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/block.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/simulated_pass_test.h"
#include "millrace/lanes/rest.h"

namespace millrace::exec {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Pipelines() {
  return {
      "%0 = range(stop=9000)",
      "%0 = range(stop=9000)\n%1 = map(%0, function={x: .value * 2})\n"
      "%2 = filter(%1, predicate={.x % 3 == 0})",
      "%0 = range(stop=9000)\n%1 = filter(%0, predicate={.value % 7 > 2})\n"
      "%2 = batch(%1, size=31)\n%3 = map(%2, function={value: .value + 1})",
      "%0 = range(stop=9000)\n%1 = shuffle(%0, window=500)\n"
      "%2 = map(%1, function={x: .value + integers(0, 9)})\n%3 = batch(%2, size=64)",
      "%0 = range(stop=9000)\n%1 = batch(%0, size=10, drop_remainder=true)\n"
      "%2 = shuffle(%1, window=100)",
  };
}

TEST(PassRunTest, AnyOrderOfTasksGivesTheSameRows) { ExpectSameRows(Pipelines()); }

// The numbers of the first field, and how many rows each block has of them.
struct Values {
  std::vector<int64_t> sorted;
  std::vector<int64_t> rows;
};

Values ValuesOf(const std::vector<core::Block>& blocks) {
  Values values;
  for (const core::Block& block : blocks) {
    const absl::Span<const int64_t> numbers = block.columns()[0].values().As<int64_t>();
    values.sorted.insert(values.sorted.end(), numbers.begin(), numbers.end());
    values.rows.push_back(std::ssize(numbers));
  }
  std::ranges::sort(values.sorted);
  return values;
}

TEST(PassRunTest, LanesInAnyOrderGiveEveryRowOnceInFullBatches) {
  for (const std::string& text : Pipelines()) {
    const Values plain = ValuesOf(MustRun(text));
    for (uint64_t seed = 0; seed < 6; ++seed) {
      for (const int64_t bytes : {kPlenty, int64_t{1}}) {
        SimulatedPass pass(text, seed, bytes, Delivery::kAny);
        Values any = ValuesOf(pass.Drain());
        EXPECT_EQ(any.sorted, plain.sorted) << "seed " << seed << "\n" << text;
        if (text.find("batch") == std::string::npos) continue;
        EXPECT_EQ(any.rows, plain.rows) << "seed " << seed << "\n" << text;
      }
    }
  }
}

// Rows so large that they are written where their batch will have them.
TEST(PassRunTest, LanesInAnyOrderFillBatchesInPlace) {
  const std::string text =
      "%0 = range(stop=900)\n%1 = filter(%0, predicate={.value % 7 > 2})\n"
      "%2 = map(%1, function={x: uniform(0.0, 1.0, shape=[600])})\n"
      "%3 = batch(%2, size=7)";
  const auto numbers = [](const std::vector<core::Block>& blocks) {
    std::vector<double> all;
    for (const core::Block& block : blocks) {
      const absl::Span<const double> own = block.columns()[0].values().As<double>();
      all.insert(all.end(), own.begin(), own.end());
    }
    std::ranges::sort(all);
    return all;
  };
  const std::vector<double> plain = numbers(MustRun(text));
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SimulatedPass pass(text, seed, kPlenty, Delivery::kAny);
    EXPECT_EQ(numbers(pass.Drain()), plain) << seed;
  }
}

TEST(PassRunTest, LanesInAnyOrderDoNotWaitForEachOther) {
  const std::string text =
      "%0 = range(stop=90000)\n%1 = filter(%0, predicate={.value % 7 > 2})\n"
      "%2 = batch(%1, size=100)";
  int mixed = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SimulatedPass pass(text, seed, kPlenty, Delivery::kAny);
    int64_t before = -1;
    for (const core::Block& block : pass.Drain()) {
      const int64_t first = block.columns()[0].values().As<int64_t>()[0];
      mixed += first < before ? 1 : 0;
      before = first;
    }
  }
  EXPECT_GT(mixed, 0);
}

TEST(PassRunTest, LittleMemoryChangesNothingAndNeverStopsIt) {
  ExpectSameRowsWithin(Pipelines(), {1, int64_t{100} << 10, int64_t{1} << 20});
}

TEST(PassRunTest, ACostlyConsumerStopsTheWork) {
  constexpr int64_t kBudget = int64_t{8} << 20;
  SimulatedPass pass("%0 = range(stop=100000000)\n%1 = batch(%0, size=1024)", 1,
                     kBudget);
  pass.RunUntilFull();
  EXPECT_GT(pass.pool().stats().used_bytes, 0);
  EXPECT_LE(pass.pool().stats().peak_bytes, kBudget + kBudget / 10);
}

TEST(PassRunTest, GivesEverythingBackWhereverItIsLeft) {
  ExpectNothingKept(Pipelines());
}

TEST(PassRunTest, TheFirstErrorInTheOrderOfRowsIsTheOneThatCounts) {
  const std::string text =
      "%0 = range(stop=9000)\n%1 = map(%0, function={x: 1 // (.value - 8700), y: "
      ".value})\n%2 = filter(%1, predicate={1 // (.y - 400) < 2})";
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SimulatedPass pass(text, seed, kPlenty);
    absl::StatusOr<std::optional<core::Block>> block = pass.Next();
    while (block.ok() && block->has_value()) block = pass.Next();
    EXPECT_THAT(block.status().message(), HasSubstr("filter (%2)")) << seed;
    EXPECT_EQ(pass.Next().status(), block.status());
  }
}

// An error ends its lane for the reader, but threads still work on rows behind it.
TEST(PassRunTest, ALaneThatFailedStaysWhileTasksOfItRun) {
  const std::string text =
      "%0 = range(stop=9000)\n%1 = map(%0, function={x: 1 // (.value - 3)})\n"
      "%2 = batch(%1, size=500)";
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SimulatedPass pass(text, seed, kPlenty);
    absl::StatusOr<std::optional<core::Block>> block = pass.Next();
    while (block.ok() && block->has_value()) block = pass.Next();
    EXPECT_THAT(block.status().message(), HasSubstr("division by zero")) << seed;
    EXPECT_EQ(pass.Next().status(), block.status());
  }
}

TEST(PassRunTest, WhatIsLeftFollowsWhatWasTaken) {
  SimulatedPass pass("%0 = range(stop=1000)\n%1 = batch(%0, size=100)", 1, kPlenty);
  const auto rows_left = [&] {
    int64_t rows = 0;
    for (const lanes::LaneRange& range : pass.Left()) rows += range.rows();
    return rows;
  };
  EXPECT_EQ(rows_left(), 1000);
  for (int64_t left = 900; left >= 0; left -= 100) {
    ASSERT_TRUE(pass.Next()->has_value());
    EXPECT_EQ(rows_left(), left);
  }
  EXPECT_FALSE(pass.Next()->has_value());
}

// The stage that gives the error ends the lane; what reads for it may be at work still.
TEST(PassRunTest, WorkThatIsDoneAfterAnErrorStillHasItsPlace) {
  const std::string text =
      "%0 = range(stop=90000)\n%1 = map(%0, function={x: 1 // (.value - 700)})\n"
      "%2 = shuffle(%1, window=90000)";
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimulatedPass pass(text, seed, kPlenty);
    absl::StatusOr<std::optional<core::Block>> block = pass.Next();
    while (block.ok()) block = pass.Next();
    EXPECT_THAT(block.status().message(), HasSubstr("map (%1)")) << seed;
    EXPECT_EQ(pass.Next().status(), block.status());
  }
}

}  // namespace
}  // namespace millrace::exec
