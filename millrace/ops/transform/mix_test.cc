#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/single_merger_test.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Rows begin, ..., end - 1, in blocks of a size.
std::vector<core::Block> InBlocks(int64_t begin, int64_t end, int64_t size) {
  std::vector<core::Block> blocks;
  for (int64_t at = begin; at < end; at += size) {
    blocks.push_back(Numbers(at, std::min(at + size, end)));
  }
  return blocks;
}

std::vector<int64_t> Mixed(const std::string& arguments, int64_t block_rows,
                           uint64_t seed = 1, uint64_t epoch = 0) {
  SingleMerger mix("mix(%0, %1" + arguments + ")", seed, epoch);
  EXPECT_THAT(
      mix.RunAll({InBlocks(0, 50, block_rows), InBlocks(1000, 1060, block_rows)}),
      IsOk());
  return mix.Values();
}

core::Block WithoutFields(const core::Block& block) {
  return core::Block(block.rows(), core::FieldNames{}, {}).WithIds(*block.ids());
}

TEST(MixTest, GivesEveryRowOnceInTheOrderOfItsInput) {
  const std::vector<int64_t> mixed = Mixed("", 7);
  ASSERT_EQ(mixed.size(), 110U);
  std::vector<int64_t> small;
  std::vector<int64_t> large;
  for (const int64_t value : mixed) (value < 1000 ? small : large).push_back(value);
  ASSERT_EQ(small.size(), 50U);
  for (int64_t i = 0; i < 50; ++i) ASSERT_EQ(small[i], i);
  for (int64_t i = 0; i < 60; ++i) ASSERT_EQ(large[i], 1000 + i);
  EXPECT_FALSE(std::ranges::is_sorted(mixed));
}

TEST(MixTest, TheDrawDoesNotDependOnHowRowsAreCutIntoBlocks) {
  const std::vector<int64_t> mixed = Mixed("", 7);
  EXPECT_EQ(Mixed("", 1), mixed);
  EXPECT_EQ(Mixed("", 100), mixed);
}

TEST(MixTest, DrawsFromSeedAndEpoch) {
  EXPECT_EQ(Mixed(", seed=5", 7, 1), Mixed(", seed=5", 7, 2));
  EXPECT_EQ(Mixed("", 7, 5), Mixed(", seed=5", 7, 1));
  EXPECT_NE(Mixed("", 7, 1), Mixed("", 7, 2));
  EXPECT_NE(Mixed("", 7, 1, 0), Mixed("", 7, 1, 1));
}

TEST(MixTest, AnotherMixOfThePipelineDrawsForItself) {
  SingleMerger first("mix(%0, %1)");
  SingleMerger second("mix(%1, %0) %5 = mix(%4, %1)");
  const std::vector<std::vector<core::Block>> inputs = {InBlocks(0, 50, 9),
                                                        InBlocks(50, 99, 9)};
  ASSERT_THAT(first.RunAll(inputs), IsOk());
  ASSERT_THAT(second.RunAll(inputs), IsOk());
  EXPECT_NE(first.Values(), second.Values());
}

TEST(MixTest, BlocksWithoutRowsChangeNothing) {
  SingleMerger mix("mix(%0, %1)");
  std::vector<std::vector<core::Block>> inputs = {InBlocks(0, 50, 7),
                                                  InBlocks(1000, 1060, 7)};
  for (std::vector<core::Block>& blocks : inputs) {
    blocks.insert(blocks.begin(), Numbers(0, 0));
    blocks.insert(blocks.begin() + 3, Numbers(0, 0));
    blocks.push_back(Numbers(0, 0));
  }
  ASSERT_THAT(mix.RunAll(inputs), IsOk());
  EXPECT_EQ(mix.Values(), Mixed("", 7));
}

TEST(MixTest, TheOthersGoOnWhereOneEndsAtOnce) {
  SingleMerger mix("mix(%0, %1, %0)");
  ASSERT_THAT(mix.RunAll({{}, InBlocks(0, 5, 2), {}}), IsOk());
  EXPECT_THAT(mix.Values(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(mix.Wants(), Merger::kNone);
}

TEST(MixTest, InputsOfOneRowEachAreAllGiven) {
  SingleMerger mix("mix(%0, %1, %0)");
  ASSERT_THAT(mix.RunAll({{Numbers(7, 8)}, {Numbers(8, 9)}, {Numbers(9, 10)}}), IsOk());
  EXPECT_THAT(mix.Values(), UnorderedElementsAre(7, 8, 9));
}

TEST(MixTest, NothingComesOfNothing) {
  SingleMerger mix("mix(%0, %1)");
  ASSERT_THAT(mix.RunAll({{}, {}}), IsOk());
  EXPECT_TRUE(mix.blocks().empty());
  EXPECT_EQ(mix.Wants(), Merger::kNone);
}

// It is known that an input has ended only when its next row is drawn.
TEST(MixTest, StopsWithTheFirstInputThatEnds) {
  SingleMerger mix("mix(%0, %1, stop=\"first\")");
  ASSERT_THAT(mix.RunAll({InBlocks(0, 1000, 10), InBlocks(1000, 1003, 10)}), IsOk());
  const std::vector<int64_t> mixed = mix.Values();
  EXPECT_EQ(std::ranges::count_if(mixed, [](int64_t v) { return v >= 1000; }), 3);
  EXPECT_LT(mixed.size(), 100U);
}

TEST(MixTest, RowsKeepTheirIdentities) {
  SingleMerger mix("mix(%0, %1)");
  ASSERT_THAT(mix.RunAll({InBlocks(0, 20, 3), InBlocks(100, 120, 4)}), IsOk());
  const std::vector<int64_t> values = mix.Values();
  const std::vector<core::RowId> ids = mix.Ids();
  ASSERT_EQ(ids.size(), 40U);
  for (size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(ids[i], SourceRowId(0, 0, values[i]));
  }
}

TEST(MixTest, RowsWithoutFieldsAreGivenOnceToo) {
  SingleMerger mix("mix(%0, %1)");
  std::vector<std::vector<core::Block>> inputs = {InBlocks(0, 20, 3),
                                                  InBlocks(100, 120, 4)};
  for (std::vector<core::Block>& blocks : inputs) {
    std::ranges::transform(blocks, blocks.begin(), WithoutFields);
  }
  ASSERT_THAT(mix.RunAll(inputs), IsOk());
  std::vector<int64_t> rows;
  for (const core::RowId& id : mix.Ids()) rows.push_back(static_cast<int64_t>(id.lo));
  std::ranges::sort(rows);
  ASSERT_EQ(rows.size(), 40U);
  EXPECT_EQ(rows[19], 19);
  EXPECT_EQ(rows[20], 100);
  EXPECT_EQ(std::ranges::adjacent_find(rows), rows.end());
}

TEST(MixTest, CountsAllRowsUnlessItMayStopEarly) {
  EXPECT_EQ(BehindInputs("mix(%0, %1)")->cardinality().rows(), 30);
  const ir::Cardinality first =
      BehindInputs("mix(%0, %1, stop=\"first\")")->cardinality();
  EXPECT_FALSE(first.known() || first.infinite());
  EXPECT_TRUE(BehindInputs("repeat(%0) %5 = mix(%4, %1)")->cardinality().infinite());
}

TEST(MixTest, RefusesWeightsThatMeanNothing) {
  for (const std::string weights : {"[1.0, -1.0]", "[1.0, 0.0]", "[1.0, 1e18]"}) {
    EXPECT_THAT(BehindInputs("mix(%0, %1, weights=" + weights + ")"),
                StatusIs(kInvalidArgument, HasSubstr("weights must be above 0")))
        << weights;
  }
  EXPECT_THAT(BehindInputs("mix(%0, %1, weights=[1.0, 1.0, 1.0])"),
              StatusIs(kInvalidArgument, HasSubstr("3 weights for 2 inputs")));
}

}  // namespace
}  // namespace millrace::ops
