#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/random_rows_test.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using testing::HasSubstr;
using testing::StartsWith;

std::string Encoded(const Picture& picture, const char* format, int64_t quality = 90) {
  const Column bytes = *CallKernel("encode_image", {Rows(Copies(picture, 1))},
                                   {{"format", format}, {"quality", quality}});
  return std::string(bytes.Row(0)->TextAt(0));
}

TEST(EncodeKernelsTest, WritesTheFormatAskedFor) {
  const Picture picture = Draw({9, 8});
  EXPECT_THAT(Encoded(picture, "jpeg"), StartsWith("\xFF\xD8"));
  EXPECT_THAT(Encoded(picture, "png"), StartsWith("\x89PNG"));
  EXPECT_THAT(Encoded(picture, "webp"), StartsWith("RIFF"));
}

TEST(EncodeKernelsTest, DecodeReadsWhatWasWritten) {
  const Picture picture = Draw({9, 8});
  for (const char* format : {"jpeg", "png", "webp"}) {
    const Column bytes =
        *CallKernel("encode_image", {Rows(Copies(picture, 1))}, {{"format", format}});
    const Column images = *CallKernel("decode_image", {Rows(bytes)});
    EXPECT_EQ(images.Row(0)->shape(), TensorOf(picture).shape());
    const bool lossless = std::string(format) == "png";
    EXPECT_TRUE(!lossless || *images.Row(0) == TensorOf(picture));
  }
}

TEST(EncodeKernelsTest, QualityMattersButForPng) {
  const Picture picture = Draw({90, 80});
  EXPECT_LT(Encoded(picture, "jpeg", 10).size(), Encoded(picture, "jpeg").size());
  EXPECT_LT(Encoded(picture, "webp", 10).size(), Encoded(picture, "webp").size());
  EXPECT_EQ(Encoded(picture, "png", 10), Encoded(picture, "png"));
}

TEST(EncodeKernelsTest, WhatCannotBeEncodedIsAnErrorOfTheRow) {
  const auto error = [](const Picture& picture, const char* format) {
    return CallKernel("encode_image", {Rows(Copies(picture, 1))}, {{"format", format}})
        .status()
        .ToString();
  };
  EXPECT_THAT(error(Blank({0, 3}), "png"), HasSubstr("row 0: an image has no pixels"));
  EXPECT_THAT(error(Blank({1, 20000}), "webp"), HasSubstr("row 0: no side of a WebP"));
}

TEST(EncodeKernelsTest, NeedsThreeChannelsOfBytes) {
  const auto infer = [](DType dtype, int64_t channels) {
    return InferKernel("encode_image", {{.dtype = dtype, .shape = {2, 2, channels}}})
        .status()
        .ToString();
  };
  EXPECT_EQ(infer(DType::kUint8, 3), "OK");
  EXPECT_THAT(infer(DType::kUint8, 1), HasSubstr("needs an image of 3 channels"));
  EXPECT_THAT(infer(DType::kFloat32, 3), HasSubstr("uint8"));
}

}  // namespace
}  // namespace millrace::kernels
