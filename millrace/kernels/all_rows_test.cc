#include "millrace/kernels/all_rows.h"

#include <cstdint>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;

TEST(AllRowsTest, StacksRowsAndTakesThemApart) {
  const Tensor first = Tensor1<int64_t>({1, 2});
  const Tensor second = Tensor1<int64_t>({3, 4});
  for (const Column& column : Layouts({first, second})) {
    if (!column.row_shape().has_value()) continue;
    const absl::StatusOr<Tensor> stack = StackedRows(column, core::HeapPool());
    ASSERT_THAT(stack, base::IsOk());
    EXPECT_EQ(stack->shape(), Shape({2, 2}));
    EXPECT_TRUE(core::SameRows(*RowsOfStack(*stack), column));
  }
}

TEST(AllRowsTest, StacksTextsThatHaveGaps) {
  for (const Column& column : Layouts({Tensor::Text("a"), Tensor::Text("bc")})) {
    if (!column.row_shape().has_value()) continue;
    const absl::StatusOr<Tensor> stack = StackedRows(column, core::HeapPool());
    ASSERT_THAT(stack, base::IsOk());
    EXPECT_EQ(stack->TextAt(1), "bc");
    EXPECT_TRUE(core::SameRows(*RowsOfStack(*stack), column));
  }
}

// transpose is made of it: rows of one shape at once, others one by one.
TEST(AllRowsTest, TreatsAllRowsAlike) {
  const Tensor row = Tensor::FromValues<int64_t>({1, 2}, {1, 2});
  const Tensor other = Tensor1<int64_t>({7});
  EXPECT_EQ(Shown(CallKernel("transpose",
                             {Rows(Column::OfTensors(DType::kInt64, {row, other}))})),
            "int64[2, 1] [1, 2]; int64[1] [7]");
}

}  // namespace
}  // namespace millrace::kernels
