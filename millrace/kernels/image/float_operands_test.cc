#include "millrace/kernels/image/float_operands.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/image/float_image.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/image_operands.h"

namespace millrace::kernels {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::StatusIs;
using core::DType;
using testing::HasSubstr;

TEST(FloatOperandsTest, AreBytesOrFloats) {
  EXPECT_THAT(CheckBytesOrFloats({.dtype = DType::kUint8, .shape = {2, 2, 5}}), IsOk());
  EXPECT_THAT(CheckBytesOrFloats({.dtype = DType::kFloat32, .shape = {2, 2, 3}}),
              IsOk());
  EXPECT_THAT(CheckBytesOrFloats({.dtype = DType::kFloat64, .shape = {2, 2, 3}}),
              StatusIs(kInvalidArgument, HasSubstr("an image of uint8 or float32")));
  EXPECT_THAT(CheckBytesOrFloats({.dtype = DType::kFloat32, .shape = {2, 2}}),
              StatusIs(kInvalidArgument));
}

TEST(FloatOperandsTest, AFloatImageHasItsOwnChannels) {
  const core::Tensor tensor =
      core::Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, {1, 3, 2});
  const auto image = ImageAt(
      {.column = *core::FromRows(DType::kFloat32, {tensor}, core::HeapPool())}, 0);
  ASSERT_THAT(image, IsOk());
  const FloatImage floats = FloatsOf(*image);
  EXPECT_EQ(floats.channels, 2);
  EXPECT_EQ(floats.size.width, 3);
  EXPECT_EQ(floats.size.height, 1);
  EXPECT_EQ(floats.first[5], 6);
}

}  // namespace
}  // namespace millrace::kernels
