// decode_image, decode_region and image_size: from the bytes of JPEG, PNG and WebP
// files to RGB, and to what can be known without decoding.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/image/decode.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/result_rows.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Tensor;
using ir::Fails;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

constexpr std::string_view kBytesDoc =
    "The bytes of one JPEG, PNG or WebP file per row.";

ValueType Pictures() {
  return {.dtype = DType::kUint8,
          .shape = {core::kUnknownSize, core::kUnknownSize, kColours}};
}

int64_t ScaleOf(const ir::Arguments& arguments) {
  return arguments["scale"].As<int64_t>();
}

absl::StatusOr<ValueType> InferDecode(const KernelTypes& types) {
  TRY(CheckEncoded(types.operands[0]));
  const int64_t scale = ScaleOf(types.arguments);
  if (scale == 1 || scale == 2 || scale == 4 || scale == 8) return Pictures();
  return absl::InvalidArgumentError(
      base::StrCat("argument scale must be 1, 2, 4 or 8, not ", scale));
}

absl::StatusOr<Column> RunDecode(const KernelCall& call) {
  const int64_t scale = ScaleOf(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const Tensor encoded = TRY(EncodedRow(call.operands[0], row));
    const std::string_view bytes = encoded.TextAt(0);
    const ImageSize size = TRY(DecodedSize(bytes, scale));
    auto* place = TRY(out.TakeAs<uint8_t>({size.height, size.width, kColours}));
    return Decode(bytes, scale, place);
  });
}

absl::StatusOr<ValueType> InferRegion(const KernelTypes& types) {
  TRY(CheckEncoded(types.operands[0]));
  TRY(CheckInts(types.operands[1], 4, "four int64 as box"));
  return Pictures();
}

absl::StatusOr<Column> RunRegion(const KernelCall& call) {
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const Tensor encoded = TRY(EncodedRow(call.operands[0], row));
    const std::string_view bytes = encoded.TextAt(0);
    // Before memory is taken: the box may be anything.
    const Box box = TRY(BoxAt(call.operands[1], row));
    TRY(CheckBox(box, TRY(EncodedSize(bytes))));
    auto* place = TRY(out.TakeAs<uint8_t>({box.height, box.width, kColours}));
    return DecodeRegion(bytes, box, place);
  });
}

absl::StatusOr<ValueType> InferSize(const KernelTypes& types) {
  TRY(CheckEncoded(types.operands[0]));
  return ValueType{.dtype = DType::kInt64, .shape = {2}};
}

absl::StatusOr<Column> RunSize(const KernelCall& call) {
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const Tensor encoded = TRY(EncodedRow(call.operands[0], row));
    const ImageSize size = TRY(EncodedSize(encoded.TextAt(0)));
    auto* place = TRY(out.TakeAs<int64_t>({2}));
    place[0] = size.height;
    place[1] = size.width;
    return absl::OkStatus();
  });
}

}  // namespace

KernelSchema DecodeImageKernel() {
  return {
      .name = "decode_image",
      .doc =
          "Decodes an image to RGB: uint8 of height, width and 3 channels. Damaged "
          "data is an error of the row; EXIF is ignored, transparency dropped.",
      .operands = {{"bytes", std::string(kBytesDoc)}},
      .arguments = {{.name = "scale",
                     .type = ir::ArgumentType::kInt,
                     .doc = "Decodes a JPEG 1, 2, 4 or 8 times smaller on each side, "
                            "which is quicker than to resize it.",
                     .default_value = 1}},
      .fails = Fails::kOnData,
      .infer = InferDecode,
      .run = RunDecode};
}

KernelSchema DecodeRegionKernel() {
  return {.name = "decode_region",
          .doc =
              "Decodes what lies in a box: the pixels of crop(decode_image(bytes), "
              "box), without decoding all of a JPEG. Damage below the box is not seen.",
          .operands = {{"bytes", std::string(kBytesDoc)},
                       {"box",
                        "Top, left, height and width in pixels, int64; outside of the "
                        "image it is an error of the row."}},
          .fails = Fails::kOnData,
          .infer = InferRegion,
          .run = RunRegion};
}

KernelSchema ImageSizeKernel() {
  return {.name = "image_size",
          .doc = "Reads height and width, int64, from the header of an encoded image.",
          .operands = {{"bytes", std::string(kBytesDoc)}},
          .fails = Fails::kOnData,
          .infer = InferSize,
          .run = RunSize};
}

}  // namespace millrace::kernels
