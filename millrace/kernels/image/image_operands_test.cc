#include "millrace/kernels/image/image_operands.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

using core::DType;
using core::Tensor;

ir::Operand OneRow(const Tensor& tensor) {
  return {.column = core::Column::OfTensors(tensor.dtype(), {tensor})};
}

TEST(ImageOperandsTest, ViewsPixelsWhereTheyLie) {
  const Tensor tensor = Tensor::FromValues<uint16_t>({1, 2, 3, 4}, {1, 2, 2});
  const absl::StatusOr<ImageRow> image = ImageAt(OneRow(tensor), 0);
  ASSERT_THAT(image, base::IsOk());
  EXPECT_EQ(image->view.size, (ImageSize{1, 2}));
  EXPECT_EQ(image->channels(), 2);
  EXPECT_EQ(image->view.channels, 4);  // Bytes.
  EXPECT_EQ(reinterpret_cast<const std::byte*>(image->view.first),
            tensor.values().data());
}

TEST(ImageOperandsTest, ReadsBoxesSizesAndConditions) {
  EXPECT_EQ(*BoxAt(OneRow(Tensor1<int64_t>({1, 2, 3, 4})), 0), (Box{1, 2, 3, 4}));
  EXPECT_EQ(*SizeAt(OneRow(Tensor1<int64_t>({5, 6})), 0), (ImageSize{5, 6}));
  EXPECT_TRUE(*ConditionAt(OneRow(Tensor::Scalar(true)), 0));
  EXPECT_EQ(EncodedRow(OneRow(Tensor::Text("ab")), 0)->TextAt(0), "ab");
}

TEST(ImageOperandsTest, SaysWhichShapeIsWrong) {
  EXPECT_EQ(ImageAt(OneRow(Tensor1<uint8_t>({1})), 0).status().message(),
            "needs an image of height, width and channels, not a value of shape [1]");
  EXPECT_EQ(BoxAt(OneRow(Tensor1<int64_t>({1})), 0).status().message(),
            "needs top, left, height and width, not a value of shape [1]");
  EXPECT_EQ(SizeAt(OneRow(Tensor::Scalar<int64_t>(1)), 0).status().message(),
            "needs height and width, not a value of shape []");
  EXPECT_FALSE(ConditionAt(OneRow(Tensor1<bool>({true})), 0).ok());
  EXPECT_FALSE(EncodedRow(OneRow(Tensor::FromTexts({"a"}, {1})), 0).ok());
}

TEST(ImageOperandsTest, AcceptsTypesThatCanBeRight) {
  const core::Shape unranked = core::Shape::Unranked();
  EXPECT_THAT(CheckImage({.dtype = DType::kInt8, .shape = unranked}), base::IsOk());
  EXPECT_THAT(CheckEncoded({.dtype = DType::kBytes, .shape = unranked}), base::IsOk());
  EXPECT_THAT(CheckInts({.dtype = DType::kInt64, .shape = {core::kUnknownSize}}, 4, ""),
              base::IsOk());
  EXPECT_FALSE(CheckInts({.dtype = DType::kInt64, .shape = {3}}, 4, "x").ok());
  EXPECT_FALSE(CheckInts({.dtype = DType::kInt32, .shape = {4}}, 4, "x").ok());
  EXPECT_FALSE(CheckImage({.dtype = DType::kInt8, .shape = {4}}).ok());
  EXPECT_FALSE(CheckByteImage({.dtype = DType::kInt8, .shape = unranked}).ok());
  EXPECT_EQ(ImageShape(1, 2, {.dtype = DType::kInt8, .shape = unranked}),
            core::Shape({1, 2, core::kUnknownSize}));
}

}  // namespace
}  // namespace millrace::kernels
