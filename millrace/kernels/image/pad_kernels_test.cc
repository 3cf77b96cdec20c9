#include <cstdint>
#include <initializer_list>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/random_rows_test.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Tensor;
using testing::HasSubstr;

template <typename T>
Column Line(std::initializer_list<T> values) {
  const auto width = static_cast<int64_t>(values.size());
  return Column::OfTensors(core::kDTypeOf<T>,
                           {Tensor::FromValues<T>(values, {1, width, 1})});
}

TEST(PadKernelsTest, PadOnEachSideByItsOwnNumber) {
  EXPECT_EQ(Shown(CallKernel("pad", {Rows(Line<uint8_t>({1, 2}))},
                             {{"top", 1}, {"left", 1}, {"right", 1}, {"fill", 9}})),
            "uint8[2, 4, 1] [9, 9, 9, 9, 9, 1, 2, 9]");
}

TEST(PadKernelsTest, PadValuesOfAnyTypeInAnyMode) {
  EXPECT_EQ(Shown(CallKernel("pad", {Rows(Line<float>({1, 2, 3}))},
                             {{"left", 2}, {"mode", "reflect"}})),
            "float32[1, 5, 1] [3.0, 2.0, 1.0, 2.0, 3.0]");
  EXPECT_EQ(Shown(CallKernel("pad", {Rows(Line<int64_t>({1, 2}))},
                             {{"right", 1}, {"fill", -7}})),
            "int64[1, 3, 1] [1, 2, -7]");
}

TEST(PadKernelsTest, PadKnowsWhatItsShapeWillBe) {
  EXPECT_EQ(InferKernel("pad",
                        {{.dtype = DType::kUint8, .shape = {4, core::kUnknownSize, 3}}},
                        {{"top", 1}, {"bottom", 2}, {"left", 3}})
                ->shape,
            core::Shape({7, core::kUnknownSize, 3}));
}

TEST(PadKernelsTest, AFillMustBeAValueOfTheType) {
  const auto infer = [](DType dtype, double fill) {
    return InferKernel("pad", {{.dtype = dtype, .shape = {1, 1, 1}}}, {{"fill", fill}})
        .status()
        .ToString();
  };
  EXPECT_EQ(infer(DType::kUint8, 255), "OK");
  EXPECT_EQ(infer(DType::kInt8, -128), "OK");
  EXPECT_EQ(infer(DType::kFloat32, 0.5), "OK");
  EXPECT_THAT(infer(DType::kUint8, 256), HasSubstr("not a value of uint8: 256"));
  EXPECT_THAT(infer(DType::kUint8, 0.5), HasSubstr("not a value of uint8"));
  EXPECT_THAT(infer(DType::kUint64, -1), HasSubstr("not a value of uint64"));
  EXPECT_THAT(infer(DType::kInt64, 1e300), HasSubstr("not a value of int64"));
  EXPECT_THAT(infer(DType::kBool, 2), HasSubstr("not a value of bool"));
}

TEST(PadKernelsTest, TheMiddleIsTheMiddle) {
  const auto middle = [](int64_t width) {
    return Shown(CallKernel("center_crop", {Rows(Line<uint8_t>({1, 2, 3, 4, 5}))},
                            {{"height", 1}, {"width", width}}));
  };
  EXPECT_EQ(middle(3), "uint8[1, 3, 1] [2, 3, 4]");
  EXPECT_EQ(middle(4), "uint8[1, 4, 1] [1, 2, 3, 4]");  // Half a pixel goes to even.
  EXPECT_EQ(middle(2), "uint8[1, 2, 1] [3, 4]");
  EXPECT_EQ(middle(7), "uint8[1, 7, 1] [0, 1, 2, 3, 4, 5, 0]");
}

TEST(PadKernelsTest, RandomCropsComeFromEverywhere) {
  const Picture picture = Draw({4, 4}, 1, 255);
  const Column out = *CallRandom("random_crop", Copies(picture, 300),
                                 {{"height", 3}, {"width", 4}, {"padding", 1}});
  EXPECT_EQ(CountDifferent(out), 4 * 3);  // 4 places down, 3 across.
}

TEST(PadKernelsTest, ACropThatDoesNotFitIsAnErrorOfTheRow) {
  const Column images = Copies(Draw({4, 4}, 1), 1);
  EXPECT_THAT(CallRandom("random_crop", images, {{"height", 5}, {"width", 4}})
                  .status()
                  .ToString(),
              HasSubstr("row 0: a crop of 5 x 4 does not fit into an image of 4 x 4"));
  EXPECT_TRUE(CallRandom("random_crop", images,
                         {{"height", 9}, {"width", 4}, {"pad_if_needed", true}})
                  .ok());
}

TEST(PadKernelsTest, HugeResultsAreRefused) {
  const Column images = Copies(Draw({4, 4}, 1), 1);
  EXPECT_THAT(
      Shown(CallKernel("pad", {Rows(images)}, {{"top", 60000}, {"left", 60000}})),
      HasSubstr("too large"));
  EXPECT_THAT(Shown(CallKernel("center_crop", {Rows(images)},
                               {{"height", 60000}, {"width", 60000}})),
              HasSubstr("too large"));
}

}  // namespace
}  // namespace millrace::kernels
