// invert, posterize, solarize, autocontrast, equalize and adjust_sharpness.

#include <cstdint>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/image/colour.h"
#include "millrace/kernels/image/colour_rows.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/image/tone.h"
#include "millrace/kernels/result_rows.h"

namespace millrace::kernels {
namespace {

using core::Column;
using ir::Fails;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

constexpr const char* kImageDoc = "An image of height, width and channels, uint8.";

absl::StatusOr<ValueType> InferTone(const KernelTypes& types) {
  TRY(CheckByteImage(types.operands[0]));
  if (types.operands.size() > 1) {
    TRY(CheckNumber(types.operands[1], "one number beside the image"));
  }
  return SameImage(types.operands[0]);
}

// Writes each row by `change(row, image, place)`.
absl::StatusOr<Column> WriteTones(
    const KernelCall& call,
    absl::FunctionRef<absl::Status(int64_t row, const ImageRow&, uint8_t*)> change) {
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    return change(row, image, TRY(out.TakeAs<uint8_t>(image.tensor.shape())));
  });
}

template <void (*kChange)(const Colours<uint8_t>&, uint8_t*)>
absl::StatusOr<Column> RunTone(const KernelCall& call) {
  return WriteTones(call, [](int64_t, const ImageRow& image, uint8_t* out) {
    kChange(ColoursOf<uint8_t>(image), out);
    return absl::OkStatus();
  });
}

absl::StatusOr<Column> RunPosterize(const KernelCall& call) {
  return WriteTones(
      call, [&](int64_t row, const ImageRow& image, uint8_t* out) -> absl::Status {
        const double bits = TRY(NumberAt(call.operands[1], row));
        TRY(CheckBits(bits));
        Posterize(ColoursOf<uint8_t>(image), static_cast<int>(bits), out);
        return absl::OkStatus();
      });
}

absl::StatusOr<Column> RunSolarize(const KernelCall& call) {
  return WriteTones(
      call, [&](int64_t row, const ImageRow& image, uint8_t* out) -> absl::Status {
        const double threshold = TRY(NumberAt(call.operands[1], row));
        TRY(CheckThreshold(threshold));
        Solarize(ColoursOf<uint8_t>(image), threshold, out);
        return absl::OkStatus();
      });
}

absl::StatusOr<Column> RunSharpness(const KernelCall& call) {
  return WriteTones(
      call, [&](int64_t row, const ImageRow& image, uint8_t* out) -> absl::Status {
        const double factor = TRY(NumberAt(call.operands[1], row));
        TRY(CheckFactor(factor));
        AdjustSharpness(image.view, factor, out);
        return absl::OkStatus();
      });
}

KernelSchema ToneSchema(std::string name, std::string doc) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"image", kImageDoc}},
          .fails = Fails::kOnUnknownShapes,
          .infer = InferTone};
}

KernelSchema ToneSchema(std::string name, std::string doc, ir::OperandSchema by) {
  KernelSchema schema = ToneSchema(std::move(name), std::move(doc));
  schema.operands.push_back(std::move(by));
  schema.fails = Fails::kOnData;
  return schema;
}

}  // namespace

KernelSchema InvertKernel() {
  KernelSchema schema =
      ToneSchema("invert", "Makes of each value x of an image 255 - x.");
  schema.run = RunTone<Invert>;
  return schema;
}

KernelSchema AutocontrastKernel() {
  KernelSchema schema = ToneSchema(
      "autocontrast",
      "Stretches each channel of an image, so that its values reach from 0 to 255.");
  schema.run = RunTone<AutoContrast>;
  return schema;
}

KernelSchema EqualizeKernel() {
  KernelSchema schema =
      ToneSchema("equalize",
                 "Changes the values of each channel of an image so that they come "
                 "about equally often, as Pillow does.");
  schema.run = RunTone<Equalize>;
  return schema;
}

KernelSchema PosterizeKernel() {
  KernelSchema schema =
      ToneSchema("posterize", "Keeps the upper bits of each value of an image.",
                 {"bits",
                  "How many bits, a whole number from 0 to 8; another is an error of "
                  "the row."});
  schema.run = RunPosterize;
  return schema;
}

KernelSchema SolarizeKernel() {
  KernelSchema schema = ToneSchema(
      "solarize", "Inverts those values of an image that are at least a threshold.",
      {"threshold", "A number; 256 leaves every value as it is."});
  schema.run = RunSolarize;
  return schema;
}

KernelSchema AdjustSharpnessKernel() {
  KernelSchema schema = ToneSchema(
      "adjust_sharpness",
      "Moves every pixel of an image away from the mean around it, or to it.",
      {"factor",
       "A number from 0, which gives a smoothed image, over 1, which changes nothing, "
       "to 20; another is an error of the row."});
  schema.run = RunSharpness;
  return schema;
}

}  // namespace millrace::kernels
