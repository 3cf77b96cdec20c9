// gaussian_blur and random_gaussian_blur.

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/image/blur.h"
#include "millrace/kernels/image/blur_floats.h"
#include "millrace/kernels/image/chance.h"
#include "millrace/kernels/image/float_operands.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/result_rows.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using ir::ArgumentSchema;
using ir::ArgumentType;
using ir::Fails;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

int64_t KernelSize(const ir::Arguments& arguments) {
  return arguments["kernel_size"].As<int64_t>();
}

ArgumentSchema KernelSizeArgument() {
  return {.name = "kernel_size",
          .type = ArgumentType::kInt,
          .doc = "How many pixels on a line count for each: odd, at most 99."};
}

// --- gaussian_blur ---

// Blurs a row, of either type, to where it belongs; copies it where there is no sigma.
absl::Status BlurTo(ResultRows& out, const ImageRow& image, int64_t size,
                    std::optional<double> sigma) {
  const core::Shape& shape = image.tensor.shape();
  if (!sigma) {
    CopyPixels(image.view, reinterpret_cast<uint8_t*>(TRY(out.Take(shape))));
  } else if (image.tensor.dtype() == DType::kUint8) {
    Blur(image.view, BlurWeights(size, *sigma), TRY(out.TakeAs<uint8_t>(shape)));
  } else {
    BlurFloats(FloatsOf(image), FloatBlurWeights(size, *sigma),
               TRY(out.TakeAs<float>(shape)));
  }
  return absl::OkStatus();
}

absl::StatusOr<ValueType> InferBlur(const KernelTypes& types) {
  TRY(CheckBytesOrFloats(types.operands[0]));
  TRY(CheckNumber(types.operands[1], "one number as sigma"));
  TRY(CheckBlurSize(KernelSize(types.arguments)));
  return SameImage(types.operands[0]);
}

absl::StatusOr<Column> RunBlur(const KernelCall& call) {
  const int64_t size = KernelSize(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const double sigma = TRY(NumberAt(call.operands[1], row));
    TRY(CheckSigma(sigma));
    return BlurTo(out, image, size, sigma);
  });
}

// --- random_gaussian_blur ---

struct SigmaRange {
  double low = 0;
  double high = 0;

  static SigmaRange Of(const ir::Arguments& arguments) {
    return {.low = arguments["sigma_low"].As<double>(),
            .high = arguments["sigma_high"].As<double>()};
  }
};

absl::StatusOr<ValueType> InferRandomBlur(const KernelTypes& types) {
  TRY(CheckBytesOrFloats(types.operands[0]));
  TRY(CheckBlurSize(KernelSize(types.arguments)));
  TRY(CheckChance(types.arguments));
  const SigmaRange range = SigmaRange::Of(types.arguments);
  TRY(CheckSigma(range.low));
  TRY(CheckSigma(range.high));
  if (range.low > range.high) {
    return absl::InvalidArgumentError(base::StrCat(
        "sigma_low must not be above sigma_high: ", range.low, " and ", range.high));
  }
  return SameImage(types.operands[0]);
}

absl::StatusOr<Column> RunRandomBlur(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const int64_t size = KernelSize(call.arguments);
  const SigmaRange range = SigmaRange::Of(call.arguments);
  const double chance = ChanceOf(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    base::Generator generator = call.draws->For(row);
    std::optional<double> sigma;
    if (generator.Uniform() < chance) sigma = generator.Uniform(range.low, range.high);
    return BlurTo(out, image, size, sigma);
  });
}

ArgumentSchema Sigma(const char* name, const char* doc, double default_value) {
  return {.name = name,
          .type = ArgumentType::kFloat,
          .doc = doc,
          .default_value = default_value};
}

}  // namespace

KernelSchema GaussianBlurKernel() {
  return {
      .name = "gaussian_blur",
      .doc =
          "Blurs an image: each pixel becomes the mean of those around it, weighted "
          "by a bell curve. The image is reflected at its edges.",
      .operands = {{"image",
                    "An image of height, width and channels, uint8 or float32."},
                   {"sigma",
                    "The deviation of the bell curve in pixels, a number; 0 or "
                    "less is an error of the row."}},
      .arguments = {KernelSizeArgument()},
      .fails = Fails::kOnData,
      .infer = InferBlur,
      .run = RunBlur};
}

KernelSchema RandomGaussianBlurKernel() {
  return {
      .name = "random_gaussian_blur",
      .doc = "Blurs some images as gaussian_blur does, each with a sigma of its own.",
      .operands = {{"image",
                    "An image of height, width and channels, uint8 or float32."}},
      .arguments = {KernelSizeArgument(),
                    Sigma("sigma_low", "The least sigma, above 0.", 0.1),
                    Sigma("sigma_high", "The largest sigma.", 2.0),
                    ChanceArgument(0.5)},
      .random = true,
      .fails = Fails::kOnUnknownShapes,
      .infer = InferRandomBlur,
      .run = RunRandomBlur};
}

}  // namespace millrace::kernels
