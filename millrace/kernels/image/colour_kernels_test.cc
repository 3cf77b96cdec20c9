#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Tensor;

template <typename T>
Column OnePixel(std::initializer_list<T> values) {
  return Column::OfTensors(
      core::kDTypeOf<T>,
      {Tensor::FromValues<T>(values, {1, 1, static_cast<int64_t>(values.size())})});
}

TEST(ColourKernelsTest, GrayscaleKeepsThreeChannelsOrMakesOne) {
  const Column image = OnePixel<uint8_t>({255, 0, 0});
  EXPECT_EQ(Shown(CallKernel("grayscale", {Rows(image)})),
            "uint8[1, 1, 3] [76, 76, 76]");
  EXPECT_EQ(Shown(CallKernel("grayscale", {Rows(image)}, {{"channels", 1}})),
            "uint8[1, 1, 1] [76]");
  EXPECT_THAT(Shown(CallKernel("grayscale", {Rows(image)}, {{"channels", 2}})),
              testing::HasSubstr("argument channels must be 1 or 3, not 2"));
}

TEST(ColourKernelsTest, AdjustByAFactorOfTheRow) {
  const Tensor pixel = Tensor::FromValues<uint8_t>({10, 20, 100}, {1, 1, 3});
  const Column images = Column::OfTensors(DType::kUint8, {pixel, pixel});
  EXPECT_EQ(Shown(CallKernel("adjust_brightness",
                             {Rows(images), Rows(ScalarRows<float>({0.5F, 3.0F}))})),
            "uint8[1, 1, 3] [5, 10, 50]; uint8[1, 1, 3] [30, 60, 255]");
}

TEST(ColourKernelsTest, AdjustFloatsByAnyNumber) {
  const Column image = OnePixel<float>({0.25F, 0.5F, 0.75F});
  EXPECT_EQ(Shown(CallKernel("adjust_brightness",
                             {Rows(image), Constant(Tensor::Scalar<int8_t>(2))})),
            "float32[1, 1, 3] [0.5, 1.0, 1.0]");
  EXPECT_EQ(
      Shown(CallKernel("adjust_contrast", {Rows(OnePixel<float>({0.5F})), Weak(0.0)})),
      "float32[1, 1, 1] [0.5]");
}

TEST(ColourKernelsTest, EachKernelDoesWhatItsNameSays) {
  const Column red = OnePixel<uint8_t>({255, 0, 0});
  EXPECT_EQ(Shown(CallKernel("adjust_saturation", {Rows(red), Weak(0.0)})),
            "uint8[1, 1, 3] [76, 76, 76]");
  EXPECT_EQ(Shown(CallKernel("adjust_contrast", {Rows(red), Weak(0.0)})),
            "uint8[1, 1, 3] [76, 76, 76]");
  EXPECT_EQ(Shown(CallKernel("adjust_hue", {Rows(red), Weak(0.5)})),
            "uint8[1, 1, 3] [0, 255, 255]");
}

TEST(ColourKernelsTest, AFactorOutOfRangeIsAnErrorOfTheRow) {
  const Column image = OnePixel<uint8_t>({1, 2, 3});
  const auto error = [&](const std::string& kernel, double by) {
    return CallKernel(kernel, {Rows(image), Weak(by)}).status().ToString();
  };
  EXPECT_EQ(error("adjust_contrast", -1),
            "DATA_LOSS: row 0: a factor must be from 0 to 20, not -1");
  EXPECT_THAT(error("adjust_saturation", std::nan("")), testing::HasSubstr("row 0: a"));
  EXPECT_THAT(error("adjust_hue", 0.7),
              testing::HasSubstr("row 0: a shift of the hue"));
}

TEST(ColourKernelsTest, TypesAreCheckedBeforeAnyRow) {
  const ir::ValueType factor = {.dtype = DType::kFloat64, .shape = {}};
  const auto infer = [&](DType dtype, const core::Shape& shape) {
    return InferKernel("adjust_hue", {{.dtype = dtype, .shape = shape}, factor})
        .status()
        .ToString();
  };
  EXPECT_EQ(infer(DType::kUint8, {2, 2, 3}), "OK");
  EXPECT_EQ(infer(DType::kFloat32, core::Shape::Unranked()), "OK");
  EXPECT_THAT(infer(DType::kInt64, {2, 2, 3}),
              testing::HasSubstr("needs an image of uint8 or float32"));
  EXPECT_THAT(infer(DType::kUint8, {2, 2, 4}),
              testing::HasSubstr("3 channels, or 1, but the image has 4"));
  EXPECT_THAT(InferKernel("adjust_hue", {{.dtype = DType::kUint8, .shape = {2, 2, 3}},
                                         {.dtype = DType::kFloat64, .shape = {2}}})
                  .status()
                  .ToString(),
              testing::HasSubstr("needs one number to adjust by"));
}

TEST(ColourKernelsTest, NamesTheRowWithOtherChannels) {
  const Tensor four = Tensor::FromValues<uint8_t>({1, 2, 3, 4}, {1, 1, 4});
  const Tensor three = Tensor::FromValues<uint8_t>({1, 2, 3}, {1, 1, 3});
  EXPECT_EQ(
      CallKernel("grayscale", {Rows(Column::OfTensors(DType::kUint8, {three, four}))})
          .status()
          .ToString(),
      "DATA_LOSS: row 1: needs an image of 3 channels, or 1, but the image has 4");
}

}  // namespace
}  // namespace millrace::kernels
