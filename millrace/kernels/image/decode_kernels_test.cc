#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;

Input Encoded(const std::vector<std::string>& files) {
  return Rows(TextRows(files, DType::kBytes));
}

TEST(DecodeKernelsTest, DecodeRowsOfDifferentSizes) {
  const Picture small = Draw({3, 4});
  const Picture large = Draw({30, 40});
  const absl::StatusOr<Column> images =
      CallKernel("decode_image", {Encoded({EncodePng(small), EncodeJpeg(large)})});
  ASSERT_THAT(images, base::IsOk());
  EXPECT_EQ(images->Row(0)->shape(), core::Shape({3, 4, 3}));
  EXPECT_THAT(images->Row(0)->As<uint8_t>(), testing::ElementsAreArray(small.pixels));
  EXPECT_EQ(images->Row(1)->shape(), core::Shape({30, 40, 3}));
}

TEST(DecodeKernelsTest, DecodeSmaller) {
  const absl::StatusOr<Column> images = CallKernel(
      "decode_image", {Encoded({EncodeJpeg(Draw({30, 41}))})}, {{"scale", 4}});
  ASSERT_THAT(images, base::IsOk());
  EXPECT_EQ(images->Row(0)->shape(), core::Shape({8, 11, 3}));
  EXPECT_THAT(
      CallKernel("decode_image", {Encoded({""})}, {{"scale", 3}}).status().ToString(),
      testing::HasSubstr("must be 1, 2, 4 or 8, not 3"));
}

TEST(DecodeKernelsTest, ReadSizesWithoutDecoding) {
  const std::string jpeg = EncodeJpeg(Draw({30, 41}));
  EXPECT_EQ(Shown(CallKernel("image_size",
                             {Encoded({jpeg, jpeg.substr(0, jpeg.size() / 2)})})),
            "int64[2] [30, 41]; int64[2] [30, 41]");
}

// What the rewrite crop_while_decoding counts on.
TEST(DecodeKernelsTest, DecodeARegionAsCropWouldHaveIt) {
  const Input files = Encoded({EncodeJpeg(Draw({30, 41})), EncodeJpeg(Draw({50, 60}))});
  const Input boxes =
      Rows(Column::OfTensors(DType::kInt64, {Tensor1<int64_t>({3, 4, 20, 30}),
                                             Tensor1<int64_t>({0, 17, 50, 1})}));
  const absl::StatusOr<Column> whole = CallKernel("decode_image", {files});
  ASSERT_THAT(whole, base::IsOk());
  const absl::StatusOr<Column> cropped = CallKernel("crop", {Rows(*whole), boxes});
  const absl::StatusOr<Column> region = CallKernel("decode_region", {files, boxes});
  ASSERT_THAT(cropped, base::IsOk());
  ASSERT_THAT(region, base::IsOk());
  EXPECT_TRUE(core::SameRows(*cropped, *region));
}

TEST(DecodeKernelsTest, NameTheRowThatIsNoImage) {
  const std::string jpeg = EncodeJpeg(Draw({30, 41}));
  for (const std::string kernel : {"decode_image", "image_size"}) {
    EXPECT_EQ(
        CallKernel(kernel, {Encoded({jpeg, "hello"})}).status().ToString(),
        "DATA_LOSS: row 1: the bytes begin neither as JPEG nor as PNG nor as WebP "
        "do");
  }
  EXPECT_EQ(CallKernel("decode_image", {Encoded({jpeg, jpeg.substr(0, 600)})})
                .status()
                .ToString(),
            "DATA_LOSS: row 1: not a whole JPEG: Premature end of JPEG file");
}

TEST(DecodeKernelsTest, NameTheRowWhoseBoxIsOutside) {
  const Input file = Encoded({EncodeJpeg(Draw({30, 41}))});
  const int64_t huge = int64_t{1} << 62;
  const Input box = Constant(Tensor1<int64_t>({0, 0, huge, huge}));
  EXPECT_THAT(CallKernel("decode_region", {file, box}).status().ToString(),
              testing::HasSubstr("row 0: the box does not lie inside the image"));
}

TEST(DecodeKernelsTest, TakeOneTextPerRow) {
  EXPECT_THAT(InferKernel("decode_image", {{.dtype = DType::kUint8, .shape = {}}})
                  .status()
                  .ToString(),
              testing::HasSubstr("needs the bytes of one encoded image, not uint8"));
  EXPECT_FALSE(
      InferKernel("image_size", {{.dtype = DType::kBytes, .shape = {2}}}).ok());
  EXPECT_EQ(InferKernel("decode_image", {{.dtype = DType::kBytes, .shape = {}}})->shape,
            core::Shape({core::kUnknownSize, core::kUnknownSize, 3}));
}

}  // namespace
}  // namespace millrace::kernels
