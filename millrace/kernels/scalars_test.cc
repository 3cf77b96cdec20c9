#include "millrace/kernels/scalars.h"

#include <cstdint>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using base::StatusIs;
using core::Column;
using core::DType;
using core::HeapPool;
using core::Tensor;

TEST(ScalarsTest, ReadsAnyNumericType) {
  for (const DType dtype : core::kAllDTypes) {
    if (!core::IsNumeric(dtype)) continue;
    const Column column = core::VisitDType(dtype, []<typename T>() {
      return ScalarRows<T>({static_cast<T>(3.0F), static_cast<T>(5.0F)});
    });
    const auto integers = *Scalars<int64_t>::Open({.column = column}, HeapPool());
    EXPECT_EQ(integers[0], 3) << dtype;
    EXPECT_EQ(integers[1], 5) << dtype;
    const auto floats = *Scalars<double>::Open({.column = column}, HeapPool());
    EXPECT_EQ(floats[1], 5.0) << dtype;
  }
}

TEST(ScalarsTest, ReadsAnyLayout) {
  for (const Column& column :
       Layouts({Tensor::Scalar<int32_t>(1), Tensor::Scalar<int32_t>(2)})) {
    const auto scalars = *Scalars<int64_t>::Open({.column = column}, HeapPool());
    EXPECT_EQ(scalars[0], 1);
    EXPECT_EQ(scalars[1], 2);
  }
}

TEST(ScalarsTest, RepeatsConstants) {
  const auto scalars = *Scalars<double>::Open(Weak<int64_t>(7).operand, HeapPool());
  EXPECT_EQ(scalars[0], 7);
  EXPECT_EQ(scalars[1000], 7);
}

TEST(ScalarsTest, ReadsNoRows) {
  const Column none = Column::OfTensors(DType::kInt32, {});
  EXPECT_EQ(ScalarColumn({.column = none}, DType::kInt64, HeapPool())->rows(), 0);
}

TEST(ScalarsTest, NamesTheRowThatIsNoScalar) {
  const Column mixed = Column::OfTensors(
      DType::kInt64, {Tensor::Scalar<int64_t>(1), Tensor1<int64_t>({1, 2})});
  EXPECT_THAT(Scalars<int64_t>::Open({.column = mixed}, HeapPool()).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       "row 1: needs a scalar, not a value of shape [2]"));
  const Column vectors =
      *core::FromRows(DType::kInt64, {Tensor1<int64_t>({1})}, HeapPool());
  EXPECT_THAT(Scalars<int64_t>::Open({.column = vectors}, HeapPool()).status(),
              StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace millrace::kernels
