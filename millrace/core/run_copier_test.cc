#include "millrace/core/run_copier.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/plain_rows_test.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::core {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;
using testing::Optional;

Column Ints(const std::vector<int32_t>& values) {
  return Column::Dense(DType::kInt32, std::ssize(values), {}, BufferOf(values));
}

std::vector<RowRef> AnyRefs(RandomSamples& random, int64_t count) {
  std::vector<RowRef> refs;
  while (std::ssize(refs) < count) {
    const bool follow = !refs.empty() && random.Below(3) > 0;
    refs.push_back(
        follow ? RowRef{refs.back().source, refs.back().row + 1}
               : RowRef{static_cast<int32_t>(random.Below(2)), random.Below(5)});
  }
  return refs;
}

TEST(RunCopierTest, ARunEndsWhereTheNextRowIsNoNeighbour) {
  const std::vector<RowRef> rows = {{0, 4}, {0, 5}, {0, 6}, {1, 7}, {1, 7}, {1, 6}};
  EXPECT_EQ(RunLength(rows), 3U);
  EXPECT_EQ(RunLength(absl::MakeConstSpan(rows).subspan(3)), 1U);  // The same again.
  EXPECT_EQ(RunLength(absl::MakeConstSpan(rows).subspan(4)), 1U);  // Backwards.
  EXPECT_EQ(RunLength(absl::MakeConstSpan(rows).subspan(5)), 1U);  // The last.
}

TEST(RunCopierTest, RunsAreTheRowsInTheirOrderAndAsFewAsCanBe) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    const std::vector<RowRef> refs = AnyRefs(random, random.Below(12));
    std::vector<RowRef> spelt;
    const Runs runs = RunsOf(refs);
    for (const core::Run& run : runs) {
      ASSERT_LT(run.extent.begin, run.extent.end);
      if (!spelt.empty()) {
        EXPECT_FALSE(spelt.back().source == run.source &&
                     spelt.back().row + 1 == run.extent.begin);
      }
      for (int64_t row = run.extent.begin; row < run.extent.end; ++row) {
        spelt.push_back({run.source, row});
      }
    }
    ASSERT_EQ(spelt.size(), refs.size());
    for (size_t i = 0; i < refs.size(); ++i) {
      EXPECT_EQ(spelt[i].source, refs[i].source);
      EXPECT_EQ(spelt[i].row, refs[i].row);
    }
  }
}

TEST(RunCopierTest, PrefetchingNothingDoesNothing) {
  PrefetchStart({});
  PrefetchStart(BufferOf("abc", 3).As<std::byte>());
}

TEST(RunCopierTest, CopiesRunsOfSeveralColumns) {
  const std::vector<Column> columns = {Ints({0, 1, 2, 3}), Ints({10, 11})};
  const Runs runs = {{1, {0, 2}}, {0, {1, 3}}, {1, {1, 1}}, {0, {0, 1}}};
  const Column copy = RunCopier(columns, runs, HeapPool()).CopyAll().value();
  EXPECT_TRUE(SameRows(copy, Ints({10, 11, 1, 2, 0})));
}

TEST(RunCopierTest, NoRunsGiveNoRowsOfTheFirstLayout) {
  const std::vector<Column> columns = {Ints({0, 1, 2, 3}).Stack(2), Ints({1}).Stack(1)};
  const Column copy = RunCopier(columns, {}, HeapPool()).CopyAll().value();
  EXPECT_EQ(copy.rows(), 0);
  EXPECT_THAT(copy.row_shape(), Optional(Shape{2}));
}

// Any depth will do: what is above is copied as levels, what is below as tensors.
TEST(RunCopierTest, EveryDepthGivesTheSameRows) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    const Sample sample = random.Sliced(Layout::kDense, random.AnyDType(), 3, 5);
    const std::vector<Column> columns = {sample.column};
    const Runs runs = {{0, {3, 5}}, {0, {0, 2}}};
    const PlainRows expected = {sample.rows[3], sample.rows[4], sample.rows[0],
                                sample.rows[1]};
    for (size_t depth = 0; depth <= 3; ++depth) {
      const auto copy = RunCopier(columns, runs, HeapPool()).CopyByRow(depth);
      ASSERT_THAT(copy, IsOk());
      EXPECT_EQ(ReadRows(*copy), expected) << "depth " << depth;
    }
  }
}

TEST(RunCopierTest, RaggedRowsNeedALevelAboveThem) {
  const std::vector<Column> columns = {Ints({1, 2, 3}).Nest(
      1, {Level::Fixed(2), Level::Variable(BufferOf<int64_t>({0, 1, 3}))})};
  const Runs runs = {{0, {0, 1}}};
  EXPECT_THAT(RunCopier(columns, runs, HeapPool()).CopyByRow(0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rectangular")));
  const Column copy = RunCopier(columns, runs, HeapPool()).CopyByRow(1).value();
  EXPECT_TRUE(SameRows(copy, columns[0]));
}

TEST(RunCopierTest, ARowOfABatchOfTensorsIsCopiedTogether) {
  const Tensor two = Tensor::FromValues<int32_t>({1, 2}, {2});
  const Tensor three = Tensor::FromValues<int32_t>({1, 2, 3}, {3});
  const Column alike = Column::OfTensors(DType::kInt32, {two, two, two, two});
  EXPECT_EQ(RowOf(alike, 1, HeapPool()).value(), two);
  EXPECT_EQ(RowOf(alike.Stack(2), 1, HeapPool()).value(),
            Tensor::FromValues<int32_t>({1, 2, 1, 2}, {2, 2}));
  EXPECT_EQ(RowOf(alike.Stack(2).Stack(2), 0, HeapPool()).value().shape(),
            (Shape{2, 2, 2}));
  const Column mixed = Column::OfTensors(DType::kInt32, {two, three}).Stack(2);
  EXPECT_THAT(RowOf(mixed, 0, HeapPool()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "rows have different shapes: [2] and [3]"));
}

TEST(RunCopierTest, ABudgetThatRunsOutIsAnError) {
  Pool pool(MakeHeapAllocator(), {.budget_bytes = 64});
  const std::vector<Column> columns = {Ints(std::vector<int32_t>(100))};
  const Runs swapped = {{0, {50, 100}}, {0, {0, 50}}};  // They do not lie so already.
  for (const auto& copied : {RunCopier(columns, swapped, pool).CopyAll(),
                             RunCopier(columns, swapped, pool).CopyByRow(0)}) {
    EXPECT_THAT(copied, StatusIs(absl::StatusCode::kResourceExhausted));
  }
  EXPECT_EQ(pool.stats().used_bytes, 0);
}

}  // namespace
}  // namespace millrace::core
