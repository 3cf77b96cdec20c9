#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/origins.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

TEST(UnbatchTest, GivesTheRowsThatBatchesWereMadeOf) {
  SingleOperator unbatch("batch(%0, size=3)\n%2 = unbatch(%1)");
  ASSERT_THAT(unbatch.Push(Numbers(0, 6).Stack(3)), base::IsOk());
  ASSERT_THAT(unbatch.Push(Numbers(6, 8).Stack(2)), base::IsOk());
  EXPECT_THAT(unbatch.Values(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(unbatch.out().blocks[1].IdAt(1), SourceRowId(0, 0, 7));
  EXPECT_EQ(unbatch.node().spec().ToString(), "{value: int64}");
}

// Collects what was noted.
class Noted final : public Origins {
 public:
  void Note(MadeRows rows) override { all.push_back(std::move(rows)); }

  std::vector<MadeRows> all;
};

// A batch of numbers that was made of other rows.
core::Block Batch(const std::vector<int64_t>& values, const core::Column& ids) {
  const core::Tensor tensor =
      core::Tensor::FromValues<int64_t>(values, {std::ssize(values)});
  return core::Block(1, core::FieldNames{"value"},
                     {*core::FromRows(core::DType::kInt64, {tensor}, core::HeapPool())})
      .WithIds(ids);
}

TEST(UnbatchTest, RowsThatAMapLeftInABatchHaveIdentitiesOfTheirOwn) {
  Noted noted;
  LeavesOut left_out;
  LaneContext lane = SingleOperator::TestLane(left_out);
  lane.origins = &noted;
  SingleOperator unbatch("batch(%0, size=3)\n%2 = unbatch(%1)", lane);
  const core::Block batch = Numbers(0, 3).Stack(3);
  ASSERT_THAT(unbatch.Push(Batch({7, 8}, *batch.ids())), base::IsOk());
  ASSERT_THAT(unbatch.Push(Batch({4, 5, 6}, *batch.ids())), base::IsOk());
  EXPECT_THAT(unbatch.Values(), ElementsAre(7, 8, 4, 5, 6));
  const core::Block& fewer = unbatch.out().blocks[0];
  EXPECT_EQ(fewer.IdAt(0), base::Combine(batch.IdAt(0), uint64_t{0}));
  EXPECT_EQ(fewer.IdAt(1), base::Combine(batch.IdAt(0), uint64_t{1}));
  EXPECT_EQ(unbatch.out().blocks[1].IdAt(1), SourceRowId(0, 0, 1));
  ASSERT_EQ(noted.all.size(), 1U);
  EXPECT_THAT(noted.all[0].made,
              ElementsAre(batch.IdAt(0), fewer.IdAt(0), fewer.IdAt(1)));
  EXPECT_THAT(noted.all[0].FromOf(0), ElementsAreArray(batch.IdsIn(0)));
  EXPECT_THAT(noted.all[0].FromOf(2), ElementsAre(batch.IdAt(0)));
  EXPECT_TRUE(left_out.reasons.empty());
}

TEST(UnbatchTest, RowsThatWereNeverBatchedAreTakenApartToo) {
  SingleOperator unbatch("batch(%0, size=3)\n%2 = unbatch(%1)");
  const core::Column one = *Numbers(5, 6).ids();
  ASSERT_THAT(unbatch.Push(Batch({1, 2}, one)), base::IsOk());
  EXPECT_THAT(unbatch.Values(), ElementsAre(1, 2));
  EXPECT_EQ(unbatch.out().blocks[0].IdAt(1),
            base::Combine(SourceRowId(0, 0, 5), uint64_t{1}));
}

TEST(UnbatchTest, RefusesRowsThatAreNoBatches) {
  EXPECT_THAT(ErrorOf("unbatch(%0)"), HasSubstr("field value has no leading axis"));
}

TEST(UnbatchTest, ABatchWhoseFieldsDifferInLengthIsABadRow) {
  const core::Block two = Numbers(0, 2).Stack(2);
  const core::Tensor three =
      core::Tensor::FromValues<int64_t>(std::vector<int64_t>{1, 2, 3}, {3});
  const core::Column other =
      *core::FromRows(core::DType::kInt64, {three}, core::HeapPool());
  const core::Block uneven(1, core::FieldNames{"value", "other"},
                           {two.columns()[0], other});
  LeavesOut left_out;
  const LaneContext lane = SingleOperator::TestLane(left_out);
  SingleOperator unbatch("batch(%0, size=2)\n%2 = unbatch(%1)", lane);
  ASSERT_THAT(unbatch.Push(uneven), base::IsOk());
  ASSERT_THAT(unbatch.Push(two), base::IsOk());
  EXPECT_THAT(unbatch.Values(), ElementsAre(0, 1));
  EXPECT_EQ(left_out.reasons.size(), 1U);
}

}  // namespace
}  // namespace millrace::ops
