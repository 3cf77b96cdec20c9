#include <cstdint>
#include <initializer_list>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Tensor;

Column Image(std::initializer_list<uint8_t> values) {
  return Column::OfTensors(DType::kUint8,
                           {Tensor::FromValues<uint8_t>(
                               values, {1, static_cast<int64_t>(values.size()), 1})});
}

TEST(ToneKernelsTest, EachKernelDoesWhatItsNameSays) {
  const Column image = Image({0, 100, 200});
  EXPECT_EQ(Shown(CallKernel("invert", {Rows(image)})),
            "uint8[1, 3, 1] [255, 155, 55]");
  EXPECT_EQ(Shown(CallKernel("autocontrast", {Rows(image)})),
            "uint8[1, 3, 1] [0, 128, 255]");
  EXPECT_EQ(Shown(CallKernel("equalize", {Rows(image)})),
            "uint8[1, 3, 1] [0, 100, 200]");
  EXPECT_EQ(Shown(CallKernel("posterize", {Rows(image), Weak(int64_t{1})})),
            "uint8[1, 3, 1] [0, 0, 128]");
  EXPECT_EQ(Shown(CallKernel("solarize", {Rows(image), Weak(150.0)})),
            "uint8[1, 3, 1] [0, 100, 55]");
  EXPECT_EQ(Shown(CallKernel("adjust_sharpness", {Rows(image), Weak(2.0)})),
            "uint8[1, 3, 1] [0, 100, 200]");
}

TEST(ToneKernelsTest, NumbersOutOfRangeAreErrorsOfTheRow) {
  const Column image = Image({1});
  EXPECT_EQ(CallKernel("posterize", {Rows(image), Weak(2.5)}).status().ToString(),
            "DATA_LOSS: row 0: bits must be a whole number from 0 to 8, not 2.5");
  EXPECT_THAT(
      CallKernel("adjust_sharpness", {Rows(image), Weak(-1.0)}).status().ToString(),
      testing::HasSubstr("row 0: a factor must be from 0 to 20"));
}

TEST(ToneKernelsTest, NeedImagesOfBytes) {
  EXPECT_THAT(InferKernel("equalize", {{.dtype = DType::kFloat32, .shape = {1, 1, 3}}})
                  .status()
                  .ToString(),
              testing::HasSubstr("needs an image of uint8"));
}

}  // namespace
}  // namespace millrace::kernels
