#include "millrace/exec/merge_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/read_log_test.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using base::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// A merging operator over inputs that are planned by themselves.
std::unique_ptr<MergeSource> SourceOf(const std::string& text, int64_t lane_rows = 4,
                                      bool ignored_behind = false) {
  const ir::Pipeline node = MustParse(text);
  std::vector<PassPlan> inputs;
  for (const ir::Pipeline& input : node.inputs()) {
    inputs.push_back(
        *PlanInLanes(ir::Print(input).text, lane_rows, {.with_ids = true}));
    inputs.back().ignored_behind = ignored_behind;
  }
  return std::make_unique<MergeSource>(node, std::move(inputs), ops::DefaultLibrary(),
                                       core::HeapPool());
}

ReadLog LogFrom(const MergeSource& source, int64_t begin) {
  return LogOf(source, 0, begin);
}

constexpr char kZip[] =
    "%0 = range(stop=10) %1 = range(start=50, stop=57) "
    "%2 = rename(%1, from=[\"value\"], to=[\"x\"]) %3 = zip(%0, %2)";
constexpr char kMix[] =
    "%0 = range(stop=10) %1 = range(start=50, stop=57) %2 = mix(%0, %1)";

TEST(MergeSourceTest, IsOneSplitOfRowsThatAreNotCounted) {
  const lanes::Manifest manifest = *SourceOf(kZip)->List();
  ASSERT_EQ(manifest.splits.size(), 1U);
  EXPECT_FALSE(manifest.counted());
  EXPECT_THAT(manifest.splits[0].name, HasSubstr("zip"));
}

TEST(MergeSourceTest, OtherInputsMakeAnotherSplit) {
  const std::string longer =
      "%0 = range(stop=10) %1 = range(start=50, stop=58) %2 = mix(%0, %1)";
  EXPECT_EQ(*SourceOf(kMix)->List(), *SourceOf(kMix)->List());
  EXPECT_NE(SourceOf(kMix)->List()->splits[0].name,
            SourceOf(longer)->List()->splits[0].name);
}

TEST(MergeSourceTest, ReadsTheInputsAsTheMergerWantsThem) {
  EXPECT_THAT(LogFrom(*SourceOf(kZip), 0).events,
              ElementsAre("0", "1", "2", "3", "4", "5", "6"));
  Events mixed = LogFrom(*SourceOf(kMix), 0).events;
  EXPECT_EQ(mixed.size(), 17U);
  std::ranges::sort(mixed);
  EXPECT_EQ(std::ranges::adjacent_find(mixed), mixed.end());
}

TEST(MergeSourceTest, HowInputsFallIntoLanesChangesNothing) {
  const Events mixed = LogFrom(*SourceOf(kMix, 4), 0).events;
  EXPECT_EQ(LogFrom(*SourceOf(kMix, 1), 0).events, mixed);
  EXPECT_EQ(LogFrom(*SourceOf(kMix, 100), 0).events, mixed);
}

TEST(MergeSourceTest, GoesOnFromAnyRow) {
  for (const char* text : {kZip, kMix}) {
    const auto source = SourceOf(text);
    const ReadLog all = LogFrom(*source, 0);
    for (size_t begin = 0; begin <= all.events.size() + 1; ++begin) {
      const size_t skipped = std::min(begin, all.events.size());
      const ReadLog rest = LogFrom(*source, static_cast<int64_t>(begin));
      EXPECT_THAT(rest.events,
                  ElementsAreArray(all.events.begin() + skipped, all.events.end()));
      EXPECT_THAT(rest.ids, ElementsAreArray(all.ids.begin() + skipped, all.ids.end()));
    }
  }
}

TEST(MergeSourceTest, RowsBeforeAnErrorOfAnInputAreGivenFirst) {
  const auto source = SourceOf(
      "%0 = range(stop=9) %1 = map(%0, function={value: .value + 0 // (.value - 5)}) "
      "%2 = rename(%0, from=[\"value\"], to=[\"x\"]) %3 = zip(%1, %2)",
      100);
  const ReadLog log = LogFrom(*source, 0);
  EXPECT_THAT(log.events, ElementsAre("0", "1", "2", "3", "4", "!"));
  EXPECT_THAT(log.why.message(), HasSubstr("map (%1)"));
}

TEST(MergeSourceTest, RowsThatInputsLeaveOutAreTold) {
  const auto source = SourceOf(
      "%0 = range(stop=9) %1 = map(%0, function={value: .value + 0 // (.value - 5)}) "
      "%2 = rename(%0, from=[\"value\"], to=[\"x\"]) %3 = zip(%1, %2)",
      1, true);
  const ReadLog log = LogFrom(*source, 0);
  EXPECT_THAT(log.events, ElementsAre("0", "1", "2", "3", "4", "-", "6", "7", "8"));
}

// Readers of one source have plans of their own, since these grow.
TEST(MergeSourceTest, ReadersOfEndlessInputsDoNotDisturbEachOther) {
  const auto source = SourceOf(
      "%0 = range(stop=300) %1 = range(stop=3) %2 = repeat(%1) "
      "%3 = rename(%0, from=[\"value\"], to=[\"x\"]) %4 = zip(%2, %3)",
      1);
  NestedReader other(source->InputsOf({0, 0, lanes::kRowsMax}).value(),
                     ops::DefaultLibrary(), core::HeapPool());
  const ReadLog log = LogFrom(*source, 0);
  ASSERT_EQ(log.events.size(), 300U);
  for (size_t i = 0; i < 300; ++i) ASSERT_EQ(log.events[i], base::StrCat(i % 3));
  EXPECT_EQ(LogOf(other).events, log.events);
}

TEST(MergeSourceTest, WaitsWhereOneOfItsInputsDoes) {
  EXPECT_FALSE(SourceOf(kMix)->waits());
  const storage::TemporaryFolder folder;
  folder.Write("a.txt", "1\n2\n3\n");
  const std::string read = ops::Call("read_text", folder.path() + "/a.txt");
  const std::string text =
      base::StrCat("%0 = range(stop=9) %1 = ", read, " %2 = zip(%0, %1)");
  const ir::Pipeline node = MustParse(text);
  const auto plan = *PlanPass(AsWritten(text), ops::DefaultLibrary(), {});
  EXPECT_TRUE(plan.source->waits());
  EXPECT_THAT(LogOf(*plan.nested, 0).events, ElementsAre("0", "1", "2"));
}

}  // namespace
}  // namespace millrace::exec
