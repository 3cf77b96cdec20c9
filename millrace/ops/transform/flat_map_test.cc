#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/transform/rows_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FlatMapTest : public ::testing::Test {
 protected:
  // Runs a function over lists.
  absl::Status Run(const std::string& function, const core::Block& block) {
    node_ = std::make_unique<ir::Pipeline>(
        *BehindLists("flat_map(%0, function={" + function + "})"));
    const auto runs =
        DefaultLibrary().Make(*node_, SingleOperator::TestLane(bad_rows_));
    return runs->Push(block, out_);
  }

  std::unique_ptr<ir::Pipeline> node_;
  Collector out_;
  LeavesOut bad_rows_;
};

TEST_F(FlatMapTest, EveryItemOfAListBecomesARow) {
  ASSERT_THAT(Run("x: .x * 10", ListBlock({{1, 2}, {}, {3}})), IsOk());
  EXPECT_EQ(ShownRows(out_.blocks), "int64 10; int64 20; int64 30");
}

TEST_F(FlatMapTest, FieldsWithoutAnAxisGoIntoEachRow) {
  ASSERT_THAT(Run("x: .x, n: length(.x)", ListBlock({{1, 2}, {}, {3}})), IsOk());
  EXPECT_EQ(ShownRows(out_.blocks, "n"), "int64 2; int64 2; int64 1");
}

TEST_F(FlatMapTest, ItemsHaveIdentitiesOfTheirOwn) {
  const core::Block lists = ListBlock({{1, 2}, {3}});
  ASSERT_THAT(Run("x: .x", lists), IsOk());
  const core::Block& items = out_.blocks[0];
  EXPECT_EQ(items.IdAt(0), base::Combine(lists.IdAt(0), uint64_t{0}));
  EXPECT_EQ(items.IdAt(1), base::Combine(lists.IdAt(0), uint64_t{1}));
  EXPECT_EQ(items.IdAt(2), base::Combine(lists.IdAt(1), uint64_t{0}));
}

TEST_F(FlatMapTest, ListsOfDifferentLengthAreAnErrorOfTheRow) {
  ASSERT_THAT(Run("x: .x, y: .x[0:1]", ListBlock({{1}, {1, 2}, {3}})), IsOk());
  EXPECT_EQ(ShownRows(out_.blocks), "int64 1; int64 3");
  EXPECT_THAT(bad_rows_.reasons,
              ElementsAre("the fields x and y have 2 and 1 items; all lists of a row "
                          "must be of one length"));
}

TEST_F(FlatMapTest, ARowOfNoItemsGivesNothing) {
  ASSERT_THAT(Run("x: .x", ListBlock({{}, {}})), IsOk());
  EXPECT_THAT(out_.blocks, IsEmpty());
}

TEST_F(FlatMapTest, TheSpecHasOneAxisLess) {
  const ir::Pipeline node = *BehindLists("flat_map(%0, function={x: .x, n: 1})");
  EXPECT_EQ(node.spec().ToString(), "{x: int64, n: int64}");
  EXPECT_FALSE(node.cardinality().known());
}

TEST_F(FlatMapTest, AFunctionThatGivesNoListIsRefused) {
  EXPECT_THAT(ErrorOf("flat_map(%0, function={x: .value})"),
              HasSubstr("gives no list, but {x: int64}"));
}

}  // namespace
}  // namespace millrace::ops
