#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/random_rows_test.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Tensor;
using testing::HasSubstr;

// Two images of one row, two columns and one channel.
template <typename T>
Column Batch(std::initializer_list<T> values) {
  return Column::OfTensors(core::kDTypeOf<T>,
                           {Tensor::FromValues<T>(values, {2, 1, 2, 1})});
}

Input Draw(std::initializer_list<double> numbers) {
  return Constant(Tensor1<double>(numbers));
}

TEST(MixKernelsTest, BlendsImagesWithTheirPartners) {
  EXPECT_EQ(Shown(CallKernel("mix_images", {Rows(Batch<uint8_t>({0, 100, 200, 50})),
                                            Draw({0.75, 0, 0, 0, 0, 1, 0})})),
            "uint8[2, 1, 2, 1] [50, 88, 150, 63]");
  EXPECT_EQ(Shown(CallKernel("mix_images", {Rows(Batch<float>({0, 1, 2, 3})),
                                            Draw({0.5, 0, 0, 0, 0, 1, 0})})),
            "float32[2, 1, 2, 1] [1.0, 2.0, 1.0, 2.0]");
}

TEST(MixKernelsTest, CutsTheBoxOutOfPartners) {
  const Input draw = Draw({0.5, 0, 1, 1, 1, 1, 0});
  EXPECT_EQ(Shown(CallKernel("mix_images", {Rows(Batch<uint8_t>({1, 2, 3, 4})), draw})),
            "uint8[2, 1, 2, 1] [1, 4, 3, 2]");
  EXPECT_EQ(Shown(CallKernel("mix_images", {Rows(Batch<float>({1, 2, 3, 4})), draw})),
            "float32[2, 1, 2, 1] [1.0, 4.0, 3.0, 2.0]");
}

TEST(MixKernelsTest, MixesLabelsAlike) {
  const Input draw = Draw({0.75, 0, 0, 0, 0, 1, 0});
  const Column classes = Column::OfTensors(DType::kInt64, {Tensor1<int64_t>({2, 0})});
  EXPECT_EQ(
      Shown(CallKernel("mix_labels", {Rows(classes), draw}, {{"num_classes", 3}})),
      "float32[2, 3] [0.25, 0.0, 0.75, 0.75, 0.0, 0.25]");
  const Column shares = Column::OfTensors(
      DType::kFloat32, {Tensor::FromValues<float>({1, 0, 0, 1}, {2, 2})});
  EXPECT_EQ(Shown(CallKernel("mix_labels", {Rows(shares), draw})),
            "float32[2, 2] [0.75, 0.25, 0.25, 0.75]");
}

TEST(MixKernelsTest, ADrawFitsItsBatch) {
  for (const std::string kernel : {"draw_mixup", "draw_cutmix"}) {
    const absl::StatusOr<Column> draw =
        CallRandom(kernel, Batch<uint8_t>({0, 100, 200, 50}));
    ASSERT_TRUE(draw.ok()) << draw.status();
    EXPECT_EQ(draw->Row(0)->shape(), core::Shape({7}));
    EXPECT_TRUE(
        CallKernel("mix_images", {Rows(Batch<uint8_t>({0, 100, 200, 50})), Rows(*draw)})
            .ok());
  }
  EXPECT_EQ(InferKernel("draw_mixup", {{.dtype = DType::kUint8, .shape = {8, 2, 2, 3}}})
                ->shape,
            core::Shape({13}));
}

TEST(MixKernelsTest, WrongDrawsAndLabelsAreErrorsOfTheRow) {
  const auto mixed = [](std::initializer_list<double> draw) {
    return CallKernel("mix_images", {Rows(Batch<uint8_t>({1, 2, 3, 4})), Draw(draw)})
        .status()
        .ToString();
  };
  EXPECT_THAT(mixed({1, 0, 0, 0, 0, 0}),
              HasSubstr("row 0: the draw is for 1 images, but the batch has 2"));
  EXPECT_THAT(mixed({2, 0, 0, 0, 0, 0, 1}), HasSubstr("row 0: the draw is not one of"));
  EXPECT_THAT(mixed({1, 0, 0, 0, 0, 0, 7}), HasSubstr("row 0: the draw is not one of"));
  EXPECT_THAT(mixed({1, 0, 0, 2, 1, 0, 1}), HasSubstr("row 0: the box does not lie"));
  const Column classes = Column::OfTensors(DType::kInt64, {Tensor1<int64_t>({3, 0})});
  EXPECT_THAT(CallKernel("mix_labels", {Rows(classes), Draw({1, 0, 0, 0, 0, 0, 1})},
                         {{"num_classes", 3}})
                  .status()
                  .ToString(),
              HasSubstr("row 0: a label must be from 0 to 2, not 3"));
}

TEST(MixKernelsTest, TypesAreCheckedBeforeAnyRow) {
  const auto infer = [](const char* kernel, DType dtype, const core::Shape& shape,
                        const ir::Arguments& arguments) {
    return InferKernel(kernel,
                       {{.dtype = dtype, .shape = shape},
                        {.dtype = DType::kFloat64, .shape = {core::kUnknownSize}}},
                       arguments)
        .status()
        .ToString();
  };
  EXPECT_EQ(infer("mix_images", DType::kUint8, {2, 3, 3, 3}, {}), "OK");
  EXPECT_THAT(infer("mix_images", DType::kUint8, {3, 3, 3}, {}),
              HasSubstr("needs a batch of images of uint8 or float32"));
  EXPECT_THAT(infer("mix_labels", DType::kInt32, {2}, {}),
              HasSubstr("num_classes must be given"));
  EXPECT_THAT(infer("mix_labels", DType::kFloat32, {2, 5}, {{"num_classes", 5}}),
              HasSubstr("for labels that are integers only"));
  EXPECT_THAT(infer("mix_labels", DType::kInt32, {2, 5}, {{"num_classes", 5}}),
              HasSubstr("needs an integer per image"));
  EXPECT_THAT(
      InferKernel("draw_mixup", {{.dtype = DType::kUint8, .shape = {2, 3, 3, 3}}},
                  {{"alpha", 0}})
          .status()
          .ToString(),
      HasSubstr("argument alpha must be above 0"));
}

}  // namespace
}  // namespace millrace::kernels
