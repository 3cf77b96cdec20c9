// rand_augment, trivial_augment_wide and auto_augment.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/image/augment.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/result_rows.h"

namespace millrace::kernels {
namespace {

using core::Column;
using ir::ArgumentSchema;
using ir::ArgumentType;
using ir::Fails;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

// Writes an image after all operations, one after another, to `out`.
void ApplyAll(absl::Span<const Augment> augments, const PixelView& image, uint8_t fill,
              uint8_t* out) {
  const std::vector<uint8_t> pixel(static_cast<size_t>(image.channels), fill);
  const auto bytes = static_cast<size_t>(image.size.pixels() * image.channels);
  if (augments.empty()) return CopyPixels(image, out);
  // The last one writes the result, so that those before go back and forth.
  std::vector<uint8_t> between[2];
  PixelView source = image;
  for (size_t i = 0; i + 1 < augments.size(); ++i) {
    std::vector<uint8_t>& place = between[i % 2];
    place.resize(bytes);
    Apply(augments[i], source, pixel, place.data());
    source = DenseView(place.data(), image.size, image.channels);
  }
  Apply(augments.back(), source, pixel, out);
}

using Draw = absl::FunctionRef<std::vector<Augment>(const ImageSize&, base::Generator)>;

absl::StatusOr<Column> RunAugment(const KernelCall& call, Draw draw) {
  CHECK(call.draws != nullptr);
  const auto fill = static_cast<uint8_t>(call.arguments["fill"].As<int64_t>());
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    TRY(CheckColours(image));
    TRY(CheckImageSize(image.view.size));
    auto* place = TRY(out.TakeAs<uint8_t>(image.tensor.shape()));
    ApplyAll(draw(image.view.size, call.draws->For(row)), image.view, fill, place);
    return absl::OkStatus();
  });
}

absl::StatusOr<ValueType> InferAugment(const KernelTypes& types) {
  TRY(CheckByteImage(types.operands[0]));
  TRY(CheckColours(types.operands[0]));
  return SameImage(types.operands[0]);
}

ArgumentSchema Whole(std::string name, std::string doc, int64_t default_value,
                     int64_t least, int64_t most) {
  return {.name = std::move(name),
          .type = ArgumentType::kInt,
          .doc = std::move(doc),
          .default_value = default_value,
          .least = least,
          .most = most};
}

ArgumentSchema Bins() {
  return Whole("num_magnitude_bins", "How many magnitudes there are.", 31, 2, 1000);
}

int64_t IntOf(const ir::Arguments& arguments, const char* name) {
  return arguments[name].As<int64_t>();
}

KernelSchema AugmentSchema(std::string name, std::string doc,
                           std::vector<ArgumentSchema> arguments) {
  arguments.push_back(
      Whole("fill", "The value of what is not in the image.", 0, 0, 255));
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .operands = {{"image", "An image of height, width and 3 channels, or 1, uint8."}},
      .arguments = std::move(arguments),
      .random = true,
      .fails = Fails::kOnData,
      .infer = InferAugment};
}

// --- rand_augment ---

absl::StatusOr<ValueType> InferRandAugment(const KernelTypes& types) {
  const int64_t magnitude = IntOf(types.arguments, "magnitude");
  const int64_t bins = IntOf(types.arguments, "num_magnitude_bins");
  if (magnitude < bins) return InferAugment(types);
  return absl::InvalidArgumentError(
      base::StrCat("argument magnitude must be less than num_magnitude_bins, ", bins,
                   ", not ", magnitude));
}

absl::StatusOr<Column> RunRandAugment(const KernelCall& call) {
  return RunAugment(call, [&](const ImageSize& size, base::Generator generator) {
    return DrawRandAugment(
        IntOf(call.arguments, "num_ops"), IntOf(call.arguments, "magnitude"),
        IntOf(call.arguments, "num_magnitude_bins"), size, generator);
  });
}

// --- trivial_augment_wide, auto_augment ---

absl::StatusOr<Column> RunTrivialAugment(const KernelCall& call) {
  const int64_t bins = IntOf(call.arguments, "num_magnitude_bins");
  return RunAugment(call, [&](const ImageSize&, base::Generator generator) {
    return std::vector<Augment>{DrawTrivialAugment(bins, generator)};
  });
}

absl::StatusOr<Column> RunAutoAugment(const KernelCall& call) {
  const AugmentPolicy policy =
      AugmentPolicyOf(call.arguments["policy"].As<std::string>());
  return RunAugment(call, [&](const ImageSize& size, base::Generator generator) {
    return DrawAutoAugment(policy, size, generator);
  });
}

}  // namespace

KernelSchema RandAugmentKernel() {
  KernelSchema schema = AugmentSchema(
      "rand_augment",
      "Changes an image by random operations of one strength, as torchvision's "
      "RandAugment does.",
      {Whole("num_ops", "How many operations, one after another.", 2, 0, 100),
       Whole("magnitude", "How strong they are, of the magnitudes there are.", 9, 0,
             999),
       Bins()});
  schema.infer = InferRandAugment;
  schema.run = RunRandAugment;
  return schema;
}

KernelSchema TrivialAugmentWideKernel() {
  KernelSchema schema = AugmentSchema(
      "trivial_augment_wide",
      "Changes an image by one random operation of random strength, as torchvision's "
      "TrivialAugmentWide does.",
      {Bins()});
  schema.run = RunTrivialAugment;
  return schema;
}

KernelSchema AutoAugmentKernel() {
  KernelSchema schema = AugmentSchema(
      "auto_augment",
      "Changes an image by a random pair of operations of a learnt policy, as "
      "torchvision's AutoAugment does.",
      {{.name = "policy",
        .type = ArgumentType::kText,
        .doc = "The dataset for which it was learnt: imagenet, cifar10 or svhn.",
        .default_value = "imagenet",
        .choices = {"imagenet", "cifar10", "svhn"}}});
  schema.run = RunAutoAugment;
  return schema;
}

}  // namespace millrace::kernels
