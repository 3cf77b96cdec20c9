#include "millrace/kernels/row_by_row.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using base::StatusIs;
using core::Column;
using core::DType;
using core::Tensor;

absl::StatusOr<Column> ComputeRows(int64_t rows, ComputeRow compute) {
  const ir::ValueType type = {.dtype = DType::kInt64, .shape = core::Shape::Unranked()};
  const ir::Arguments arguments;
  return RowByRow({.rows = rows,
                   .operands = {},
                   .operand_types = {},
                   .type = type,
                   .arguments = arguments,
                   .draws = nullptr,
                   .pool = core::HeapPool()},
                  compute);
}

TEST(RowByRowTest, TakesTheLayoutThatTheRowsAllow) {
  EXPECT_TRUE(
      ComputeRows(3, [](int64_t row) { return Tensor::Scalar(row); })->IsDense());
  const Column ragged = *ComputeRows(3, [](int64_t row) {
    return Tensor::FromValues<int64_t>(std::vector<int64_t>(row, row), {row});
  });
  EXPECT_EQ(Shown(ragged), "int64[0] []; int64[1] [1]; int64[2] [2, 2]");
  EXPECT_EQ(ComputeRows(0, [](int64_t row) { return Tensor::Scalar(row); })->rows(), 0);
}

TEST(RowByRowTest, StopsAtTheFirstRowThatFails) {
  int64_t last = 0;
  const absl::StatusOr<Column> result =
      ComputeRows(10, [&](int64_t row) -> absl::StatusOr<Tensor> {
        last = row;
        if (row >= 4) return absl::InvalidArgumentError("too far");
        return Tensor::Scalar(row);
      });
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kDataLoss, "row 4: too far"));
  EXPECT_EQ(last, 4);
}

TEST(RowByRowTest, DoesNotBlameRowsForMemory) {
  EXPECT_THAT(ComputeRows(1,
                          [](int64_t) -> absl::StatusOr<Tensor> {
                            return absl::ResourceExhaustedError("full");
                          }),
              StatusIs(absl::StatusCode::kResourceExhausted, "full"));
}

TEST(RowByRowTest, GivesTheOneRowOfConstants) {
  const Column two = ScalarRows<int64_t>({5, 6});
  EXPECT_EQ(RowOf({.column = two}, 1)->ToString(), "int64 6");
  const Column one = ScalarRows<int64_t>({5});
  EXPECT_EQ(RowOf({.column = one, .constant = true}, 7)->ToString(), "int64 5");
}

TEST(RowByRowTest, InsistsOnTheInferredType) {
  EXPECT_DEATH((void)ComputeRows(1, [](int64_t) { return Tensor::Scalar(1.5); }),
               "dtype");
}

}  // namespace
}  // namespace millrace::kernels
