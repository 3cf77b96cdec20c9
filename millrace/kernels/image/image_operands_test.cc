#include "millrace/kernels/image/image_operands.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
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

TEST(ImageOperandsTest, ReadsNumbersOfEveryType) {
  EXPECT_EQ(*NumberAt(OneRow(Tensor::Scalar<uint8_t>(200)), 0), 200);
  EXPECT_EQ(*NumberAt(OneRow(Tensor::Scalar<int64_t>(-5)), 0), -5);
  EXPECT_EQ(*NumberAt(OneRow(Tensor::Scalar(0.5F)), 0), 0.5);
  EXPECT_EQ(*NumberAt(OneRow(Tensor::Scalar(0.1)), 0), 0.1);
  EXPECT_EQ(*NumberAt(OneRow(Tensor::Scalar(core::Float16(1.5F))), 0), 1.5);
  EXPECT_EQ(NumberAt(OneRow(Tensor1<double>({1})), 0).status().message(),
            "needs one number, not a value of shape [1]");
}

TEST(ImageOperandsTest, ColoursAreThreeChannelsOrOne) {
  const auto check = [](DType dtype, const core::Shape& shape) {
    return CheckColours(ir::ValueType{.dtype = dtype, .shape = shape}).ok();
  };
  EXPECT_TRUE(check(DType::kUint8, {2, 2, 3}));
  EXPECT_TRUE(check(DType::kFloat32, {2, 2, 1}));
  EXPECT_TRUE(check(DType::kUint8, {2, 2, core::kUnknownSize}));
  EXPECT_TRUE(check(DType::kUint8, core::Shape::Unranked()));
  EXPECT_FALSE(check(DType::kUint8, {2, 2, 2}));
  EXPECT_FALSE(check(DType::kUint8, {2, 2}));
  EXPECT_FALSE(check(DType::kFloat64, {2, 2, 3}));
  const Tensor four = Tensor::FromValues<uint8_t>({1, 2, 3, 4}, {1, 1, 4});
  EXPECT_FALSE(CheckColours(*ImageAt(OneRow(four), 0)).ok());
}

TEST(ImageOperandsTest, NumbersAreScalars) {
  const auto check = [](DType dtype, const core::Shape& shape) {
    return CheckNumber({.dtype = dtype, .shape = shape}, "x").ok();
  };
  EXPECT_TRUE(check(DType::kInt8, {}));
  EXPECT_TRUE(check(DType::kFloat64, core::Shape::Unranked()));
  EXPECT_FALSE(check(DType::kFloat64, {1}));
  EXPECT_FALSE(check(DType::kBool, {}));
  EXPECT_FALSE(check(DType::kString, {}));
}

TEST(ImageOperandsTest, AnImageOfTheSameTypeHasThreeAxes) {
  const int64_t open = core::kUnknownSize;
  EXPECT_EQ(SameImage({.dtype = DType::kInt8, .shape = core::Shape::Unranked()}).shape,
            core::Shape({open, open, open}));
  EXPECT_EQ(SameImage({.dtype = DType::kInt8, .shape = {4, open, 3}, .weak = true}),
            (ir::ValueType{.dtype = DType::kInt8, .shape = {4, open, 3}}));
}

}  // namespace
}  // namespace millrace::kernels
