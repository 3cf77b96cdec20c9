#include <cstdint>
#include <initializer_list>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/random_rows_test.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Tensor;

// One pixel high, two wide.
template <typename T>
Tensor TwoPixels(std::initializer_list<T> values) {
  return Tensor::FromValues<T>(values, {1, 2, static_cast<int64_t>(values.size()) / 2});
}

TEST(PixelKernelsTest, FlipWhereTheConditionHolds) {
  const Tensor image = TwoPixels<uint8_t>({1, 2, 3, 4, 5, 6});
  const Column images = Column::OfTensors(DType::kUint8, {image, image});
  EXPECT_EQ(Shown(CallKernel("flip_horizontal",
                             {Rows(images), Rows(ScalarRows<bool>({true, false}))})),
            "uint8[1, 2, 3] [4, 5, 6, 1, 2, 3]; uint8[1, 2, 3] [1, 2, 3, 4, 5, 6]");
}

TEST(PixelKernelsTest, FlipImagesOfAnyType) {
  const Column images =
      Column::OfTensors(DType::kFloat64, {TwoPixels<double>({0.5, 1, 2, 3})});
  EXPECT_EQ(Shown(CallKernel("flip_horizontal",
                             {Rows(images), Constant(Tensor::Scalar(true))})),
            "float64[1, 2, 2] [2.0, 3.0, 0.5, 1.0]");
}

TEST(PixelKernelsTest, FlipNeedsABool) {
  EXPECT_THAT(
      InferKernel("flip_horizontal", {{.dtype = DType::kUint8, .shape = {1, 1, 3}},
                                      {.dtype = DType::kInt64, .shape = {}}})
          .status()
          .ToString(),
      testing::HasSubstr("needs one bool as condition, not int64"));
}

TEST(PixelKernelsTest, FlipTopToBottom) {
  const Tensor image = Tensor::FromValues<int32_t>({1, 2, 3, 4}, {2, 2, 1});
  const Column images = Column::OfTensors(DType::kInt32, {image, image});
  EXPECT_EQ(Shown(CallKernel("flip_vertical",
                             {Rows(images), Rows(ScalarRows<bool>({true, false}))})),
            "int32[2, 2, 1] [3, 4, 1, 2]; int32[2, 2, 1] [1, 2, 3, 4]");
}

TEST(PixelKernelsTest, RandomFlipsAreOfTheDirectionAskedFor) {
  const Picture picture = {.size = {2, 2}, .channels = 1, .pixels = {1, 2, 3, 4}};
  const auto flipped = [&](const char* direction, std::initializer_list<uint8_t> to) {
    const Column out = *CallRandom("random_flip", Copies(picture, 200),
                                   {{"direction", direction}, {"p", 0.5}});
    const int64_t count = CountOf(out, Tensor::FromValues<uint8_t>(to, {2, 2, 1}));
    EXPECT_EQ(CountOf(out, TensorOf(picture)), 200 - count);
    return static_cast<double>(count);
  };
  EXPECT_NEAR(flipped("horizontal", {2, 1, 4, 3}), 100, 30);
  EXPECT_NEAR(flipped("vertical", {3, 4, 1, 2}), 100, 30);
}

TEST(PixelKernelsTest, NormalizeInEitherLayout) {
  const Column images =
      Column::OfTensors(DType::kUint8, {TwoPixels<uint8_t>({10, 20, 12, 30})});
  const ir::Arguments arguments = {
      {"mean", ir::List{10, 20}}, {"deviation", ir::List{2, 5}}, {"scale", 1}};
  EXPECT_EQ(Shown(CallKernel("normalize", {Rows(images)}, arguments)),
            "float32[1, 2, 2] [0.0, 0.0, 1.0, 2.0]");
  ir::Arguments planes = arguments;
  planes.Set("layout", "chw");
  EXPECT_EQ(Shown(CallKernel("normalize", {Rows(images)}, planes)),
            "float32[2, 1, 2] [0.0, 1.0, 0.0, 2.0]");
}

TEST(PixelKernelsTest, NormalizeChecksItsNumbers) {
  const auto infer = [](int64_t channels, const ir::List& mean,
                        const ir::List& deviation) {
    return InferKernel("normalize",
                       {{.dtype = DType::kUint8, .shape = {4, 4, channels}}},
                       {{"mean", mean}, {"deviation", deviation}})
        .status()
        .ToString();
  };
  EXPECT_EQ(infer(2, {1, 2}, {1, 2}), "OK");
  EXPECT_THAT(infer(3, {1, 2}, {1, 2}),
              testing::HasSubstr("are for 2 channels, but the image has 3"));
  EXPECT_THAT(infer(2, {1, 2}, {1}), testing::HasSubstr("not 2 and 1"));
  EXPECT_THAT(infer(2, {}, {}), testing::HasSubstr("not 0 and 0"));
  EXPECT_THAT(infer(2, {1, 2}, {1, 0}), testing::HasSubstr("must not hold 0"));
}

TEST(PixelKernelsTest, NormalizeNamesTheRowWithOtherChannels) {
  const Column images = Column::OfTensors(
      DType::kUint8,
      {TwoPixels<uint8_t>({1, 2, 3, 4}), TwoPixels<uint8_t>({1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(CallKernel("normalize", {Rows(images)},
                       {{"mean", ir::List{0, 0}}, {"deviation", ir::List{1, 1}}})
                .status()
                .ToString(),
            "DATA_LOSS: row 1: mean and deviation are for 2 channels, but the image "
            "has 3");
}

TEST(PixelKernelsTest, PlanesAndPixelsAreEachOthersInverse) {
  const Column images =
      Column::OfTensors(DType::kInt16, {TwoPixels<int16_t>({1, 2, 3, 4, 5, 6})});
  const absl::StatusOr<Column> planes = CallKernel("to_chw", {Rows(images)});
  EXPECT_EQ(Shown(planes), "int16[3, 1, 2] [1, 4, 2, 5, 3, 6]");
  EXPECT_EQ(Shown(CallKernel("to_hwc", {Rows(*planes)})),
            "int16[1, 2, 3] [1, 2, 3, 4, 5, 6]");
}

TEST(PixelKernelsTest, PlanesKnowWhatIsKnownOfTheImage) {
  const core::Shape shape = {core::kUnknownSize, 5, 3};
  EXPECT_EQ(InferKernel("to_chw", {{.dtype = DType::kInt8, .shape = shape}})->shape,
            core::Shape({3, core::kUnknownSize, 5}));
  EXPECT_EQ(InferKernel("to_hwc", {{.dtype = DType::kInt8, .shape = shape}})->shape,
            core::Shape({5, 3, core::kUnknownSize}));
}

}  // namespace
}  // namespace millrace::kernels
