#include "millrace/exec/nested_stage.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/block.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/simulated_pass_test.h"

namespace millrace::exec {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> Pipelines() {
  const std::string decode =
      "%0 = range(stop=9000)\n%1 = shuffle(%0, window=300)\n"
      "%2 = map(%1, function={value: .value + integers(0, 9)})\n";
  const std::string other = "%3 = range(start=100, stop=4000)\n";
  return {
      decode + "%3 = batch(%2, size=64)\n%4 = repeat(%3, count=3)",
      decode + "%3 = repeat(%2, count=3)\n%4 = batch(%3, size=64)",
      decode + "%3 = repeat(%2, count=2)\n%4 = enumerate(%3)",
      decode +
          "%3 = repeat(%2, count=2)\n%4 = map(%3, function={value: .value * 2})\n"
          "%5 = repeat(%4, count=2)\n%6 = map(%5, function={value: .value + "
          "integers(0, 9)})",
      decode + other + "%4 = concat(%2, %3)\n%5 = batch(%4, size=10)",
      decode + other + "%4 = mix(%2, %3)\n%5 = repeat(%4, count=2)",
      decode + other + "%4 = mix(%2, %3, stop=\"first\")",
      decode + other +
          "%4 = rename(%3, from=[\"value\"], to=[\"x\"])\n"
          "%5 = zip(%2, %4)\n%6 = filter(%5, predicate={.x % 3 > 0})",
      decode + other +
          "%4 = batch(%2, size=7)\n%5 = unbatch(%4)\n"
          "%6 = repeat(%3)\n%7 = rename(%6, from=[\"value\"], "
          "to=[\"x\"])\n%8 = zip(%5, %7)",
  };
}

TEST(NestedStageTest, AnyOrderOfTasksGivesTheSameRows) { ExpectSameRows(Pipelines()); }

TEST(NestedStageTest, LittleMemoryChangesNothingAndNeverStopsIt) {
  ExpectSameRowsWithin(Pipelines(), {1, int64_t{100} << 10});
}

TEST(NestedStageTest, GivesEverythingBackWhereverItIsLeft) {
  ExpectNothingKept(Pipelines());
}

// One turn, or one merged lane, keeps as many threads busy as there are.
TEST(NestedStageTest, WhatStandsBeforeRunsOnManyThreads) {
  const std::string batches =
      "%0 = range(stop=900000)\n%1 = map(%0, function={value: .value * 2})\n"
      "%2 = batch(%1, size=64)\n";
  EXPECT_GE(SimulatedPass(batches + "%3 = repeat(%2, count=1)", 0, kPlenty).RunAtOnce(),
            kThreads);
  EXPECT_GE(SimulatedPass(batches + "%3 = mix(%2, %2)", 0, kPlenty).RunAtOnce(),
            kThreads);
}

TEST(NestedStageTest, RowsBeforeAnErrorComeFirst) {
  const std::string fails =
      "%0 = range(stop=9000)\n%1 = map(%0, function={value: 0 // (.value - 700) + "
      ".value})\n%2 = batch(%1, size=100)\n";
  for (const std::string& text :
       {fails + "%3 = repeat(%2, count=2)", fails + "%3 = concat(%2, %2)",
        fails + "%3 = mix(%2, %2)\n%4 = take(%3, count=70)\n%5 = concat(%4, %2)"}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      SimulatedPass pass(text, seed, kPlenty);
      int64_t batches = 0;
      absl::StatusOr<std::optional<core::Block>> block = pass.Next();
      for (; block.ok() && block->has_value(); block = pass.Next()) {
        batches += (*block)->rows();
      }
      EXPECT_GE(batches, 7) << text;
      EXPECT_THAT(
          block.status().message(),
          AllOf(HasSubstr("lane 0"), HasSubstr("map (%1)"), HasSubstr("row 700")))
          << text;
      EXPECT_EQ(pass.Next().status(), block.status());
    }
  }
}

TEST(NestedStageTest, EachOperatorHasItsOwnMeter) {
  SimulatedPass pass(
      "%0 = range(stop=1000)\n%1 = map(%0, function={value: .value * 2})\n"
      "%2 = batch(%1, size=100)\n%3 = repeat(%2, count=3)\n%4 = unbatch(%3)",
      1, kPlenty);
  pass.Drain();
  const std::vector<MeterReading> readings = pass.readings();
  ASSERT_EQ(readings.size(), 5U);
  EXPECT_EQ(readings[0].rows_out, 3000);
  EXPECT_EQ(readings[1].rows_in, 3000);
  EXPECT_EQ(readings[2].rows_out, 30);
  EXPECT_EQ(readings[3].rows_out, 30);
  EXPECT_EQ(readings[4].rows_out, 3000);
}

}  // namespace
}  // namespace millrace::exec
