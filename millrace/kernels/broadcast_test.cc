#include "millrace/kernels/broadcast.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using base::StatusIs;
using core::Column;
using core::DType;
using core::HeapPool;
using core::Shape;
using core::Tensor;
using core::Tensors;
using ir::Operand;
using testing::HasSubstr;

// a - 10 * b over int32, in int32; 13 of a cannot be computed.
int64_t MinusTen(absl::Span<const Values> operands, int64_t count, ValueWriter& out) {
  auto* const result = out.Take<int32_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t a = operands[0].As<int32_t>()[i * operands[0].step];
    const int32_t b = operands[1].As<int32_t>()[i * operands[1].step];
    if (a == 13) return i;
    result[i] = a - 10 * b;
  }
  return count;
}

absl::StatusOr<Column> MinusTenOf(int64_t rows, const std::vector<Operand>& operands) {
  return Broadcast(rows, operands,
                   {.dtype = DType::kInt32, .loop = MinusTen, .failure = "13 is bad"},
                   HeapPool());
}

Operand Same(const Tensor& value) {
  return {.column = *core::FromRows(value.dtype(), {value}, HeapPool()),
          .constant = true};
}

Tensor Ints(const std::vector<int32_t>& values, const Shape& shape) {
  return Tensor::FromValues<int32_t>(values, shape);
}

Tensor Ints(const std::vector<int32_t>& values) {
  return Ints(values, {static_cast<int64_t>(values.size())});
}

// The result rows, each computed on its own from the rows of the operands.
std::string RowsOneByOne(int64_t rows, const std::vector<Operand>& operands) {
  std::string text;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<Operand> constants;
    constants.reserve(operands.size());
    for (const Operand& operand : operands) {
      constants.push_back(Same(*operand.column.Row(operand.constant ? 0 : row)));
    }
    text += row == 0 ? "" : "; ";
    text += Shown(MinusTenOf(1, constants));
  }
  return text;
}

TEST(BroadcastTest, ComputesScalars) {
  EXPECT_EQ(Shown(MinusTenOf(2, {{.column = ScalarRows<int32_t>({50, 60})},
                                 {.column = ScalarRows<int32_t>({1, 2})}})),
            "int32 40; int32 40");
}

TEST(BroadcastTest, LetsConstantsStandForAllRows) {
  const Operand rows = {.column = ScalarRows<int32_t>({50, 60})};
  EXPECT_EQ(Shown(MinusTenOf(2, {rows, Same(Tensor::Scalar<int32_t>(1))})),
            "int32 40; int32 50");
  EXPECT_EQ(Shown(MinusTenOf(2, {Same(Tensor::Scalar<int32_t>(1)), rows})),
            "int32 -499; int32 -599");
}

TEST(BroadcastTest, KeepsDenseRowsDense) {
  const Column dense =
      *core::FromRows(DType::kInt32, {Ints({1, 2}), Ints({3, 4})}, HeapPool());
  const Column result =
      *MinusTenOf(2, {{.column = dense}, {.column = ScalarRows<int32_t>({0, 1})}});
  EXPECT_TRUE(result.IsDense());
  EXPECT_EQ(Shown(result), "int32[2] [1, 2]; int32[2] [-7, -6]");
}

TEST(BroadcastTest, BroadcastsWithinTheRowNotAcrossRows) {
  // Two rows of shape [2] against one of [2, 1]: each row becomes [2, 2].
  const Column rows =
      *core::FromRows(DType::kInt32, {Ints({1, 2}), Ints({3, 4})}, HeapPool());
  EXPECT_EQ(Shown(MinusTenOf(2, {{.column = rows}, Same(Ints({0, 1}, {2, 1}))})),
            "int32[2, 2] [1, 2, -9, -8]; int32[2, 2] [3, 4, -7, -6]");
}

TEST(BroadcastTest, KeepsTheLevelsOfRaggedRows) {
  const Column ragged =
      *core::FromRows(DType::kInt32, {Ints({1}), Ints({}), Ints({2, 3})}, HeapPool());
  const Column result =
      *MinusTenOf(3, {{.column = ragged}, Same(Tensor::Scalar<int32_t>(1))});
  EXPECT_FALSE(result.HoldsTensors());
  EXPECT_EQ(Shown(result), "int32[1] [-9]; int32[0] []; int32[2] [-8, -7]");
}

TEST(BroadcastTest, PairsRaggedRowsOfTheSameShapes) {
  const Column a =
      *core::FromRows(DType::kInt32, {Ints({1}), Ints({}), Ints({2, 3})}, HeapPool());
  const Column b =
      *core::FromRows(DType::kInt32, {Ints({1}), Ints({}), Ints({0, 1})}, HeapPool());
  const Column result = *MinusTenOf(3, {{.column = a}, {.column = b}});
  EXPECT_FALSE(result.HoldsTensors());
  EXPECT_EQ(Shown(result), "int32[1] [-9]; int32[0] []; int32[2] [2, -7]");
}

TEST(BroadcastTest, PairsRaggedRowsWithAScalarEach) {
  const Column ragged =
      *core::FromRows(DType::kInt32, {Ints({1}), Ints({2, 3})}, HeapPool());
  EXPECT_EQ(Shown(MinusTenOf(
                2, {{.column = ragged}, {.column = ScalarRows<int32_t>({1, 2})}})),
            "int32[1] [-9]; int32[2] [-18, -17]");
}

TEST(BroadcastTest, ComputesRowsThatAreNotRectangular) {
  const Column lists = *core::FromRows(
      DType::kInt32, {Ints({1}), Ints({2, 3}), Ints({}), Ints({4})}, HeapPool());
  const Column result =
      *MinusTenOf(2, {{.column = lists.Stack(2)}, Same(Tensor::Scalar<int32_t>(0))});
  EXPECT_TRUE(core::SameRows(result, lists.Stack(2)));
}

TEST(BroadcastTest, ComputesBatchesOfTensors) {
  const Column tensors = Column::OfTensors(
      DType::kInt32,
      {Ints({1, 2}, {2, 1}), Ints({3}, {1, 1}), Ints({4, 5}), Ints({6}, {})});
  const Column result =
      *MinusTenOf(2, {{.column = tensors.Stack(2)}, Same(Tensor::Scalar<int32_t>(0))});
  EXPECT_TRUE(core::SameRows(result, tensors.Stack(2)));
}

TEST(BroadcastTest, GivesTheSameInEveryLayout) {
  const std::vector<std::pair<Tensors, Tensors>> cases = {
      {{Ints({1, 2}), Ints({3, 4})}, {Ints({5, 6}), Ints({7, 8})}},
      {{Ints({1, 2}), Ints({3})}, {Ints({5, 6}), Ints({7})}},
      {{Ints({1, 2}), Ints({3})}, {Ints({5}), Ints({7, 8})}},
      {{Ints({1, 2}, {2, 1}), Ints({3, 4}, {1, 2})}, {Ints({1, 2}), Ints({3, 4})}},
      {{Ints({1, 2}, {2, 1}), Ints({}, {0, 1})}, {Ints({1, 2, 3}), Ints({3, 4})}},
      {{Ints({1}, {}), Ints({2, 3})}, {Ints({1, 2}), Ints({3}, {})}},
  };
  for (const auto& [a, b] : cases) {
    const std::string expected =
        RowsOneByOne(2, {{.column = Column::OfTensors(DType::kInt32, a)},
                         {.column = Column::OfTensors(DType::kInt32, b)}});
    for (const Column& of_a : Layouts(a)) {
      for (const Column& of_b : Layouts(b)) {
        EXPECT_EQ(Shown(MinusTenOf(2, {{.column = of_a}, {.column = of_b}})), expected);
      }
    }
  }
}

TEST(BroadcastTest, NamesTheFirstRowThatFails) {
  const Operand zero = Same(Tensor::Scalar<int32_t>(0));
  const Column dense =
      *core::FromRows(DType::kInt32, {Ints({1, 2}), Ints({3, 13})}, HeapPool());
  EXPECT_THAT(MinusTenOf(2, {{.column = dense}, zero}),
              StatusIs(absl::StatusCode::kDataLoss, "row 1: 13 is bad"));
  for (const Column& ragged : Layouts({Ints({1}), Ints({}), Ints({2, 13, 13})})) {
    EXPECT_THAT(MinusTenOf(3, {{.column = ragged}, zero}),
                StatusIs(absl::StatusCode::kDataLoss, "row 2: 13 is bad"));
  }
}

TEST(BroadcastTest, NamesTheShapesThatDoNotMeet) {
  const Column dense = *core::FromRows(DType::kInt32, {Ints({1, 2})}, HeapPool());
  EXPECT_THAT(MinusTenOf(1, {{.column = dense}, Same(Ints({1, 2, 3}))}),
              StatusIs(absl::StatusCode::kDataLoss,
                       "row 0: shapes do not go together: [2] and [3]"));
  for (const Column& ragged : Layouts({Ints({1}), Ints({2, 4})})) {
    EXPECT_THAT(MinusTenOf(2, {{.column = ragged}, Same(Ints({1, 2, 3}))}),
                StatusIs(absl::StatusCode::kDataLoss,
                         "row 1: shapes do not go together: [2] and [3]"));
  }
}

TEST(BroadcastTest, RefusesAnAbsurdResult) {
  const int64_t large = int64_t{1} << 25;
  const std::vector<int32_t> values(large);
  const Operand tall = Same(Ints(values, {large, 1}));
  const Operand wide = Same(Ints(values, {large}));
  EXPECT_THAT(MinusTenOf(1, {tall, wide}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("too large")));
}

TEST(BroadcastTest, ComputesNoRowsOfNoRows) {
  const Column none = ScalarRows<int32_t>({1}).Slice(0, 0);
  EXPECT_EQ(MinusTenOf(0, {{.column = none}, {.column = none}})->rows(), 0);
}

TEST(BroadcastTest, PassesOnThatMemoryIsFull) {
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 1 << 12});
  const Operand many = Same(Ints(std::vector<int32_t>(5000)));
  const std::vector<Operand> operands = {many, many};
  EXPECT_THAT(Broadcast(1, operands, {.dtype = DType::kInt32, .loop = MinusTen}, pool),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(BroadcastTest, RefusesColumnsOfOtherLengths) {
  const Operand two = {.column = ScalarRows<int32_t>({1, 2})};
  EXPECT_DEATH((void)MinusTenOf(3, {two, two}), "rows");
}

}  // namespace
}  // namespace millrace::kernels
