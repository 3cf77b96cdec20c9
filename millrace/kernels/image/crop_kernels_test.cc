#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Tensor;

Tensor Image(const Picture& picture) {
  return Tensor::FromValues<uint8_t>(
      picture.pixels, {picture.size.height, picture.size.width, picture.channels});
}

// Images of differing size, a tensor per row.
Column Images() {
  return Column::OfTensors(DType::kUint8, {Image(Draw({30, 40})), Image(Draw({50, 20})),
                                           Image(Draw({7, 9}))});
}

core::Block ThreeRows() {
  const std::vector<core::RowId> ids = {{1, 1}, {1, 2}, {1, 3}};
  return core::Block(3, core::FieldNames{}, {})
      .WithIds(*core::IdColumn(ids, core::HeapPool()));
}

TEST(CropKernelsTest, CropTakesTheBoxOfEachRow) {
  const Tensor counted = Tensor::FromValues<int32_t>({1, 2, 3, 4, 5, 6}, {2, 3, 1});
  const Column images = Column::OfTensors(DType::kInt32, {counted, counted});
  const Input boxes = Rows(Column::OfTensors(
      DType::kInt64, {Tensor1<int64_t>({0, 1, 2, 2}), Tensor1<int64_t>({1, 0, 1, 1})}));
  EXPECT_EQ(Shown(CallKernel("crop", {Rows(images), boxes})),
            "int32[2, 2, 1] [2, 3, 5, 6]; int32[1, 1, 1] [4]");
  EXPECT_THAT(
      CallKernel("crop", {Rows(images), Constant(Tensor1<int64_t>({0, 0, 3, 1}))})
          .status()
          .ToString(),
      testing::HasSubstr("row 0: the box does not lie inside the image"));
}

TEST(CropKernelsTest, ResizeGivesDenseRows) {
  const absl::StatusOr<Column> resized =
      CallKernel("resize", {Rows(Images())}, {{"height", 8}, {"width", 9}});
  ASSERT_THAT(resized, base::IsOk());
  EXPECT_TRUE(resized->IsDense());
  EXPECT_EQ(resized->row_shape(), core::Shape({8, 9, 3}));
}

TEST(CropKernelsTest, ResizeWritesWhereTheCallerWantsIt) {
  constexpr int64_t kRowBytes = int64_t{8} * 9 * 3;
  const Column images = Images();
  const ir::KernelSchema& kernel = **AllKernels().FindKernel("resize");
  const ir::Arguments arguments =
      *ir::CheckArguments(kernel.arguments, {{"height", 8}, {"width", 9}});
  const std::vector<ir::ValueType> types = {TypeOf(images)};
  const ir::ValueType type = *kernel.infer({.operands = types, .arguments = arguments});
  const std::vector<ir::Operand> operands = {{.column = images}};
  const core::Buffer batch = *core::HeapPool().Allocate(kRowBytes * 5);
  const core::Buffer into = batch.Slice(kRowBytes, kRowBytes * 3);  // Rows 1 to 3.
  const absl::StatusOr<Column> resized = kernel.run({.rows = 3,
                                                     .operands = operands,
                                                     .operand_types = types,
                                                     .type = type,
                                                     .arguments = arguments,
                                                     .draws = nullptr,
                                                     .pool = core::HeapPool(),
                                                     .into = &into});
  ASSERT_THAT(resized, base::IsOk());
  EXPECT_EQ(resized->values().data(), into.data());
  EXPECT_TRUE(core::SameRows(
      *resized, *CallKernel("resize", {Rows(images)}, {{"height", 8}, {"width", 9}})));
}

TEST(CropKernelsTest, ResizeRefusesWhatItCannotDo) {
  const auto infer = [](const ir::ValueType& type, const ir::Arguments& arguments) {
    return InferKernel("resize", {type}, arguments).status().ToString();
  };
  const core::Shape any = {core::kUnknownSize, core::kUnknownSize, 3};
  const ir::Arguments size = {{"height", 8}, {"width", 9}};
  EXPECT_THAT(
      infer({.dtype = DType::kFloat32, .shape = any}, size),
      testing::HasSubstr("needs an image of uint8, not float32[?, ?, 3]; cast"));
  EXPECT_THAT(infer({.dtype = DType::kUint8, .shape = {4, 4}}, size),
              testing::HasSubstr("needs an image of height, width and channels"));
  EXPECT_THAT(infer({.dtype = DType::kBytes, .shape = {}}, size),
              testing::HasSubstr("decode_image makes one"));
  EXPECT_THAT(infer({.dtype = DType::kUint8, .shape = any},
                    {{"height", 60'000}, {"width", 60'000}}),
              testing::HasSubstr("too large"));
  EXPECT_THAT(infer({.dtype = DType::kUint8, .shape = any},
                    {{"height", 8}, {"width", 9}, {"method", "cubic"}}),
              testing::HasSubstr("must be one of nearest, bilinear, bicubic"));
  const Column empty = Column::OfTensors(DType::kUint8, {Image(Blank({0, 4}))});
  EXPECT_THAT(CallKernel("resize", {Rows(empty)}, size).status().ToString(),
              testing::HasSubstr("row 0: an image has no pixels"));
}

TEST(CropKernelsTest, BoxesAreDrawnByRow) {
  const core::Block block = ThreeRows();
  const ir::Draws draws = {.key = base::RandomKey(5, 6, 7), .rows = &block};
  const absl::StatusOr<Column> boxes = CallKernel(
      "random_crop_box", {Constant(Tensor1<int64_t>({375, 500}))}, {}, &draws);
  ASSERT_THAT(boxes, base::IsOk());
  EXPECT_EQ(boxes->row_shape(), core::Shape({4}));
  EXPECT_NE(*boxes->Row(0), *boxes->Row(1));
  EXPECT_THAT(
      CallKernel("random_crop_box", {Constant(Tensor1<int64_t>({0, 500}))}, {}, &draws)
          .status()
          .ToString(),
      testing::HasSubstr("row 0: an image has no pixels"));
}

// What the rewrite crop_while_decoding counts on.
TEST(CropKernelsTest, RandomResizedCropIsResizeOfCropOfARandomBox) {
  const core::Block block = ThreeRows();
  const ir::Draws draws = {.key = base::RandomKey(5, 6, 7), .rows = &block};
  const Input images = Rows(Images());
  const Input sizes = Rows(Column::OfTensors(
      DType::kInt64, {Tensor1<int64_t>({30, 40}), Tensor1<int64_t>({50, 20}),
                      Tensor1<int64_t>({7, 9})}));
  for (const std::string method : {"nearest", "bilinear", "bicubic"}) {
    const ir::Arguments size = {
        {"height", 8}, {"width", 9}, {"method", method}, {"antialias", true}};
    ir::Arguments all = size;
    all.Set("scale_low", 0.3);
    const absl::StatusOr<Column> together =
        CallKernel("random_resized_crop", {images}, all, &draws);
    ASSERT_THAT(together, base::IsOk());
    const absl::StatusOr<Column> boxes =
        CallKernel("random_crop_box", {sizes}, {{"scale_low", 0.3}}, &draws);
    const absl::StatusOr<Column> crops = CallKernel("crop", {images, Rows(*boxes)});
    EXPECT_TRUE(core::SameRows(*together, *CallKernel("resize", {Rows(*crops)}, size)));
  }
}

// So does that, row by row in the same memory.
TEST(CropKernelsTest, DecodeResizedIsResizeOfDecodeRegion) {
  const Picture large = Draw({90, 110});
  const Input files = Rows(TextRows({EncodeJpeg(large, {.across = 2, .down = 2}),
                                     EncodePng(large), EncodeJpeg(Draw({30, 41}))},
                                    DType::kBytes));
  const Input boxes =
      Rows(Column::OfTensors(DType::kInt64, {Tensor1<int64_t>({7, 35, 61, 50}),
                                             Tensor1<int64_t>({1, 2, 80, 90}),
                                             Tensor1<int64_t>({29, 3, 1, 1})}));
  for (const std::string method : {"nearest", "bilinear", "bicubic"}) {
    const ir::Arguments size = {
        {"height", 8}, {"width", 9}, {"method", method}, {"antialias", true}};
    const absl::StatusOr<Column> together =
        CallKernel("decode_resized", {files, boxes}, size);
    ASSERT_THAT(together, base::IsOk());
    const absl::StatusOr<Column> regions = CallKernel("decode_region", {files, boxes});
    ASSERT_THAT(regions, base::IsOk());
    EXPECT_TRUE(
        core::SameRows(*together, *CallKernel("resize", {Rows(*regions)}, size)));
  }
}

TEST(CropKernelsTest, DecodeResizedNamesTheRowWhoseBoxIsWrong) {
  const Input file = Rows(TextRows({EncodeJpeg(Draw({30, 41}))}, DType::kBytes));
  const auto error = [&](std::initializer_list<int64_t> box) {
    return CallKernel("decode_resized", {file, Constant(Tensor1<int64_t>(box))},
                      {{"height", 8}, {"width", 9}})
        .status()
        .ToString();
  };
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT(error({0, 0, huge, huge}),
              testing::HasSubstr("row 0: the box does not lie inside the image"));
  EXPECT_THAT(error({3, 3, 0, 4}), testing::HasSubstr("row 0: an image has no pixels"));
}

TEST(CropKernelsTest, RangesAreCheckedBeforeAnyRow) {
  const core::Shape any = {core::kUnknownSize, core::kUnknownSize, 3};
  EXPECT_THAT(
      InferKernel("random_resized_crop", {{.dtype = DType::kUint8, .shape = any}},
                  {{"height", 8}, {"width", 9}, {"ratio_low", 3}})
          .status()
          .ToString(),
      testing::HasSubstr("the range of ratios must go from above 0 up"));
}

}  // namespace
}  // namespace millrace::kernels
