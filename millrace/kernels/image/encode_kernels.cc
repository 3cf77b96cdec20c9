// encode_image: from RGB to the bytes of a JPEG, PNG or WebP file.

#include <cstdint>
#include <string>

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
#include "millrace/kernels/image/encode_jpeg.h"
#include "millrace/kernels/image/encode_png.h"
#include "millrace/kernels/image/encode_webp.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/row_by_row.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Tensor;
using ir::ArgumentType;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

absl::Status CheckThree(int64_t channels) {
  if (channels == kColours) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "needs an image of 3 channels to encode, but the image has ", channels));
}

absl::StatusOr<ValueType> InferEncode(const KernelTypes& types) {
  TRY(CheckByteImage(types.operands[0]));
  const int64_t channels = SameImage(types.operands[0]).shape[2];
  if (channels != core::kUnknownSize) TRY(CheckThree(channels));
  return ValueType{.dtype = DType::kBytes, .shape = {}};
}

absl::StatusOr<std::string> Encode(const PixelView& pixels, const std::string& format,
                                   int quality) {
  if (format == "png") return EncodePng(pixels);
  if (format == "webp") return EncodeWebp(pixels, quality);
  return EncodeJpeg(pixels, quality);
}

absl::StatusOr<Column> RunEncode(const KernelCall& call) {
  const std::string format = call.arguments["format"].As<std::string>();
  const auto quality = static_cast<int>(call.arguments["quality"].As<int64_t>());
  return RowByRow(call, [&](int64_t row) -> absl::StatusOr<Tensor> {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    TRY(CheckThree(image.channels()));
    TRY(CheckImageSize(image.view.size));
    return Tensor::Text(TRY(Encode(image.view, format, quality)), DType::kBytes);
  });
}

}  // namespace

KernelSchema EncodeImageKernel() {
  return {.name = "encode_image",
          .doc = "Encodes an image: the bytes of a JPEG, PNG or WebP file.",
          .operands = {{"image", "An image of height, width and 3 channels, uint8."}},
          .arguments = {{.name = "format",
                         .type = ArgumentType::kText,
                         .doc = "The format of the file: jpeg, png or webp.",
                         .default_value = "jpeg",
                         .choices = {"jpeg", "png", "webp"}},
                        {.name = "quality",
                         .type = ArgumentType::kInt,
                         .doc = "How much of the image is kept, from 1 to 100; PNG "
                                "keeps all.",
                         .default_value = 90,
                         .least = 1,
                         .most = 100}},
          .fails = ir::Fails::kOnData,
          .infer = InferEncode,
          .run = RunEncode};
}

}  // namespace millrace::kernels
