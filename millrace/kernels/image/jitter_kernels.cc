// color_jitter and random_grayscale: the colours of an image, changed by as much as is
// drawn for its row.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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
#include "millrace/kernels/image/chance.h"
#include "millrace/kernels/image/colour.h"
#include "millrace/kernels/image/colour_rows.h"
#include "millrace/kernels/image/image_operands.h"

namespace millrace::kernels {
namespace {

using core::Column;
using ir::ArgumentSchema;
using ir::Fails;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

constexpr const char* kImageDoc =
    "An image of height, width and 3 channels, or 1: uint8, or float32 from 0 to 1.";

// --- color_jitter ---

// By how much each may change: factors from 1 - amount to 1 + amount, and shifts of the
// hue from -amount to amount.
struct Amounts {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;

  static Amounts Of(const ir::Arguments& arguments) {
    return {.brightness = arguments["brightness"].As<double>(),
            .contrast = arguments["contrast"].As<double>(),
            .saturation = arguments["saturation"].As<double>(),
            .hue = arguments["hue"].As<double>()};
  }
};

absl::Status CheckAmount(const char* name, double amount, double most) {
  if (amount >= 0 && amount <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("argument ", name, " must be from 0 to ", most, ", not ", amount));
}

absl::StatusOr<ValueType> InferJitter(const KernelTypes& types) {
  TRY(CheckColours(types.operands[0]));
  const Amounts amounts = Amounts::Of(types.arguments);
  TRY(CheckAmount("brightness", amounts.brightness, kFactorMost - 1));
  TRY(CheckAmount("contrast", amounts.contrast, kFactorMost - 1));
  TRY(CheckAmount("saturation", amounts.saturation, kFactorMost - 1));
  TRY(CheckAmount("hue", amounts.hue, 0.5));
  TRY(CheckChance(types.arguments));
  return SameImage(types.operands[0]);
}

// What is done to one row: the changes in their order, and each with its number.
struct Jitter {
  enum Change : uint8_t { kBrightness, kContrast, kSaturation, kHue };

  std::array<Change, 4> order = {kBrightness, kContrast, kSaturation, kHue};
  std::array<double, 4> by = {};

  // Everything is drawn, used or not, so that one amount does not change the others.
  static Jitter Draw(const Amounts& amounts, base::Generator& generator) {
    Jitter jitter;
    generator.Shuffle(std::span(jitter.order));
    const auto factor = [&](double amount) {
      return generator.Uniform(std::max(0.0, 1 - amount), 1 + amount);
    };
    jitter.by[kBrightness] = factor(amounts.brightness);
    jitter.by[kContrast] = factor(amounts.contrast);
    jitter.by[kSaturation] = factor(amounts.saturation);
    jitter.by[kHue] = generator.Uniform(-amounts.hue, amounts.hue);
    return jitter;
  }
};

template <typename T>
void Apply(Jitter::Change change, double by, const Colours<T>& image, T* out) {
  switch (change) {
    case Jitter::kBrightness:
      return AdjustBrightness(image, by, out);
    case Jitter::kContrast:
      return AdjustContrast(image, by, out);
    case Jitter::kSaturation:
      return AdjustSaturation(image, by, out);
    case Jitter::kHue:
      return AdjustHue(image, by, out);
  }
}

template <typename T>
void ApplyAll(const Jitter& jitter, Colours<T> image, T* out) {
  for (const Jitter::Change change : jitter.order) {
    const double by = jitter.by[change];
    if (by == (change == Jitter::kHue ? 0 : 1)) continue;  // Nothing would change.
    Apply(change, by, image, out);
    image.first = out;
  }
  if (image.first != out) std::copy_n(image.first, image.count(), out);
}

absl::StatusOr<Column> RunJitter(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const Amounts amounts = Amounts::Of(call.arguments);
  const double chance = ChanceOf(call.arguments);
  return ChangeColours(call,
                       [&]<typename T>(int64_t row, const Colours<T>& image, T* out) {
                         base::Generator generator = call.draws->For(row);
                         if (generator.Uniform() < chance) {
                           ApplyAll(Jitter::Draw(amounts, generator), image, out);
                         } else {
                           std::copy_n(image.first, image.count(), out);
                         }
                         return absl::OkStatus();
                       });
}

ArgumentSchema Amount(std::string name, std::string doc) {
  return {.name = std::move(name),
          .type = ir::ArgumentType::kFloat,
          .doc = std::move(doc),
          .default_value = 0.0};
}

// --- random_grayscale ---

absl::StatusOr<ValueType> InferRandomGrayscale(const KernelTypes& types) {
  TRY(CheckColours(types.operands[0]));
  TRY(CheckChance(types.arguments));
  return SameImage(types.operands[0]);
}

absl::StatusOr<Column> RunRandomGrayscale(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const double chance = ChanceOf(call.arguments);
  return ChangeColours(call,
                       [&]<typename T>(int64_t row, const Colours<T>& image, T* out) {
                         if (call.draws->For(row).Uniform() < chance) {
                           ToGrey(image, image.channels, out);
                         } else {
                           std::copy_n(image.first, image.count(), out);
                         }
                         return absl::OkStatus();
                       });
}

}  // namespace

KernelSchema ColorJitterKernel() {
  return {
      .name = "color_jitter",
      .doc =
          "Changes brightness, contrast, saturation and hue of some images, in random "
          "order and by random amounts, as torchvision's ColorJitter does.",
      .operands = {{"image", kImageDoc}},
      .arguments = {Amount("brightness",
                           "The factor is drawn from 1 - brightness, at least 0, to 1 "
                           "+ brightness."),
                    Amount("contrast", "The same for the contrast."),
                    Amount("saturation", "The same for the saturation."),
                    Amount("hue",
                           "The shift is drawn from -hue to hue, as a share of the "
                           "colour circle; at most 0.5."),
                    ChanceArgument(1.0)},
      .random = true,
      .fails = Fails::kOnUnknownShapes,
      .infer = InferJitter,
      .run = RunJitter};
}

KernelSchema RandomGrayscaleKernel() {
  return {.name = "random_grayscale",
          .doc = "Makes some images grey, drawn at random; they keep their channels.",
          .operands = {{"image", kImageDoc}},
          .arguments = {ChanceArgument(0.1)},
          .random = true,
          .fails = Fails::kOnUnknownShapes,
          .infer = InferRandomGrayscale,
          .run = RunRandomGrayscale};
}

}  // namespace millrace::kernels
