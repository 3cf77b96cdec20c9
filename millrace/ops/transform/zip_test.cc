#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
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

// The same rows, under another name.
core::Block Named(const core::Block& block, const std::string& name) {
  return core::Block(block.rows(), core::FieldNames{name}, block.columns())
      .WithIds(*block.ids());
}

core::Block Xs(int64_t begin, int64_t end) { return Named(Numbers(begin, end), "x"); }

core::Block WithoutIds(const core::Block& block) {
  return core::Block(block.rows(), block.shared_names(), block.columns());
}

TEST(ZipTest, WantsTheInputsThatHaveNothingWaiting) {
  SingleMerger zip("zip(%0, %3)");
  EXPECT_EQ(zip.Wants(), 0);
  ASSERT_THAT(zip.Push(Numbers(0, 5)), IsOk());
  EXPECT_EQ(zip.Wants(), 1);
  EXPECT_TRUE(zip.blocks().empty());
  ASSERT_THAT(zip.Push(Xs(100, 103)), IsOk());
  EXPECT_THAT(zip.Values(), ElementsAre(0, 1, 2));
  EXPECT_THAT(zip.Values("x"), ElementsAre(100, 101, 102));
  EXPECT_EQ(zip.Wants(), 1);  // Two rows of input 0 wait.
  ASSERT_THAT(zip.Push(Xs(103, 110)), IsOk());
  EXPECT_EQ(zip.Wants(), 0);
}

TEST(ZipTest, RowsMeetHoweverTheyAreCutIntoBlocks) {
  SingleMerger zip("zip(%0, %3)");
  ASSERT_THAT(zip.RunAll({{Numbers(0, 1), Numbers(1, 2), Numbers(2, 9)},
                          {Xs(0, 4), Xs(4, 5), Xs(5, 9)}}),
              IsOk());
  EXPECT_THAT(zip.Values(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(zip.Values(), zip.Values("x"));
}

TEST(ZipTest, EndsWithTheShortestInput) {
  SingleMerger zip("zip(%0, %3)");
  ASSERT_THAT(zip.RunAll({{Numbers(0, 2)}, {Xs(0, 5), Xs(5, 9)}}), IsOk());
  EXPECT_THAT(zip.Values("x"), ElementsAre(0, 1));
  EXPECT_EQ(zip.Wants(), Merger::kNone);
}

TEST(ZipTest, AnInputThatEndsAtOnceEndsAll) {
  SingleMerger first("zip(%0, %3)");
  ASSERT_THAT(first.End(), IsOk());
  EXPECT_EQ(first.Wants(), Merger::kNone);
  SingleMerger second("zip(%0, %3)");
  ASSERT_THAT(second.RunAll({{Numbers(0, 5)}, {}}), IsOk());
  EXPECT_TRUE(second.blocks().empty());
}

TEST(ZipTest, BlocksWithoutRowsChangeNothing) {
  SingleMerger zip("zip(%0, %3)");
  ASSERT_THAT(zip.RunAll({{Numbers(0, 0), Numbers(0, 2), Numbers(2, 2)},
                          {Xs(0, 0), Xs(0, 0), Xs(0, 3)}}),
              IsOk());
  EXPECT_THAT(zip.Values(), ElementsAre(0, 1));
}

TEST(ZipTest, AnIdentityIsThatOfAllItsRows) {
  SingleMerger zip("zip(%0, %3)");
  ASSERT_THAT(zip.RunAll({{Numbers(3, 5)}, {Xs(7, 9)}}), IsOk());
  base::Hash128 expected;
  for (const int64_t row : {3, 7}) {
    const core::RowId id = SourceRowId(0, 0, row);
    expected = base::Combine(expected, base::Hash128{id.hi, id.lo});
  }
  EXPECT_EQ(zip.Ids()[0], (core::RowId{expected.hi, expected.lo}));
  // Other rows beside it, or the other order, make another row of it.
  SingleMerger other("zip(%0, %3)");
  ASSERT_THAT(other.RunAll({{NumberBlock({3, 7})}, {Named(NumberBlock({8, 3}), "x")}}),
              IsOk());
  EXPECT_NE(other.Ids()[0], zip.Ids()[0]);
  EXPECT_NE(other.Ids()[1], zip.Ids()[0]);
}

TEST(ZipTest, BatchesHaveOneIdentityEach) {
  SingleMerger zip("zip(%0, %3)");
  ASSERT_THAT(zip.RunAll({{Numbers(0, 6).Stack(3)}, {Xs(0, 2)}}), IsOk());
  ASSERT_EQ(zip.Ids().size(), 2U);
  EXPECT_NE(zip.Ids()[0], zip.Ids()[1]);
  EXPECT_EQ(zip.blocks()[0].Find("value")->LeadingSize(1), 3);
}

TEST(ZipTest, MakesNoIdentitiesWhereThereAreNone) {
  SingleMerger zip("zip(%0, %3)");
  ASSERT_THAT(zip.RunAll({{WithoutIds(Numbers(0, 2))}, {WithoutIds(Xs(0, 2))}}),
              IsOk());
  ASSERT_EQ(zip.blocks().size(), 1U);
  EXPECT_FALSE(zip.blocks()[0].has_ids());
}

TEST(ZipTest, CountsTheShortestInput) {
  EXPECT_EQ(BehindInputs("zip(%0, %3)")->cardinality().rows(), 10);
  const auto rows = [](const std::string& text) {
    const ir::Cardinality count = BehindInputs(text)->cardinality();
    return count.known() ? count.rows() : count.infinite() ? -1 : -2;
  };
  EXPECT_EQ(rows("repeat(%3) %5 = zip(%0, %4)"), 10);
  EXPECT_EQ(rows("repeat(%3) %5 = repeat(%0) %6 = zip(%5, %4)"), -1);
  const std::string filtered = "filter(%3, predicate={.x > 2}) ";
  EXPECT_EQ(rows(filtered + "%5 = zip(%0, %4)"), -2);
  EXPECT_EQ(rows(filtered + "%5 = take(%0, count=0) %6 = zip(%5, %4)"), 0);
}

TEST(ZipTest, RefusesTwoFieldsOfOneName) {
  EXPECT_THAT(BehindInputs("zip(%0, %1)"),
              StatusIs(kInvalidArgument, HasSubstr("two inputs have a field named "
                                                   "value; use rename")));
}

}  // namespace
}  // namespace millrace::ops
