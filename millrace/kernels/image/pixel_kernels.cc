// flip_horizontal, flip_vertical, random_flip, normalize, to_chw and to_hwc: every
// pixel, somewhere else or as something else.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
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
#include "millrace/kernels/image/chance.h"
#include "millrace/kernels/image/flip.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/image/layout.h"
#include "millrace/kernels/image/normalize.h"
#include "millrace/kernels/result_rows.h"
#include "millrace/kernels/typing.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using ir::ArgumentType;
using ir::Fails;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

// What is known of an image's shape with its axes in another order.
Shape Reordered(const Shape& shape, int first, int second, int third) {
  if (!shape.ranked()) {
    return {core::kUnknownSize, core::kUnknownSize, core::kUnknownSize};
  }
  return {shape[first], shape[second], shape[third]};
}

// --- flip_horizontal, flip_vertical, random_flip ---

absl::StatusOr<ValueType> InferFlip(const KernelTypes& types) {
  const ValueType& image = types.operands[0];
  const ValueType& condition = types.operands[1];
  TRY(CheckImage(image));
  const bool scalar = !condition.shape.ranked() || condition.shape.is_scalar();
  if (condition.dtype != DType::kBool || !scalar) {
    return Needs("one bool as condition", {&condition, 1});
  }
  return ValueType{.dtype = image.dtype, .shape = Reordered(image.shape, 0, 1, 2)};
}

template <void (*kWrite)(const PixelView&, uint8_t*)>
absl::StatusOr<Column> RunFlip(const KernelCall& call) {
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const bool flips = TRY(ConditionAt(call.operands[1], row));
    (flips ? kWrite : CopyPixels)(image.view,
                                  TRY(out.TakeAs<uint8_t>(image.tensor.shape())));
    return absl::OkStatus();
  });
}

absl::StatusOr<ValueType> InferRandomFlip(const KernelTypes& types) {
  TRY(CheckImage(types.operands[0]));
  TRY(CheckChance(types.arguments));
  return SameImage(types.operands[0]);
}

absl::StatusOr<Column> RunRandomFlip(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const bool down = call.arguments["direction"].As<std::string>() == "vertical";
  const auto flip = down ? FlipVertical : FlipHorizontal;
  const double chance = ChanceOf(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const bool flips = call.draws->For(row).Uniform() < chance;
    (flips ? flip : CopyPixels)(image.view,
                                TRY(out.TakeAs<uint8_t>(image.tensor.shape())));
    return absl::OkStatus();
  });
}

KernelSchema FlipSchema(std::string name, std::string doc) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"image", "An image of height, width and channels."},
                       {"condition",
                        "A bool; uniform(0.0, 1.0) < 0.5 flips every other image."}},
          .fails = Fails::kOnUnknownShapes,
          .infer = InferFlip};
}

// --- normalize ---

std::vector<double> Numbers(const ir::Value& list) {
  std::vector<double> numbers;
  for (const ir::Value& number : list.As<ir::List>()) {
    numbers.push_back(number.As<double>());
  }
  return numbers;
}

bool ToPlanesOf(const ir::Arguments& arguments) {
  return arguments["layout"].As<std::string>() == "chw";
}

absl::Status CheckChannels(int64_t channels, int64_t given) {
  if (channels == given) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "mean and deviation are for ", given, " channels, but the image has ", channels));
}

absl::StatusOr<ValueType> InferNormalize(const KernelTypes& types) {
  const ValueType& image = types.operands[0];
  TRY(CheckByteImage(image));
  const std::vector<double> means = Numbers(types.arguments["mean"]);
  const std::vector<double> deviations = Numbers(types.arguments["deviation"]);
  if (means.size() != deviations.size() || means.empty()) {
    return absl::InvalidArgumentError(
        base::StrCat("mean and deviation must each have a number per channel, not ",
                     means.size(), " and ", deviations.size()));
  }
  if (std::ranges::count(deviations, 0.0) > 0) {
    return absl::InvalidArgumentError("argument deviation must not hold 0");
  }
  const auto given = static_cast<int64_t>(means.size());
  Shape shape = Reordered(image.shape, 0, 1, 2);
  if (shape[2] != core::kUnknownSize) TRY(CheckChannels(shape[2], given));
  shape = {shape[0], shape[1], given};
  if (ToPlanesOf(types.arguments)) shape = Reordered(shape, 2, 0, 1);
  return ValueType{.dtype = DType::kFloat32, .shape = shape};
}

absl::StatusOr<Column> RunNormalize(const KernelCall& call) {
  const ChannelLines lines = ChannelLines::Of(Numbers(call.arguments["mean"]),
                                              Numbers(call.arguments["deviation"]),
                                              call.arguments["scale"].As<double>());
  const bool planes = ToPlanesOf(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    TRY(CheckChannels(image.channels(), lines.channels()));
    const Shape& shape = image.tensor.shape();
    auto* place = TRY(out.TakeAs<float>(planes ? Reordered(shape, 2, 0, 1) : shape));
    const auto write = planes ? NormalizeToPlanes : Normalize;
    write(image.view.first, image.view.size.pixels(), lines, place);
    return absl::OkStatus();
  });
}

// --- to_chw, to_hwc ---

absl::StatusOr<ValueType> InferToChw(const KernelTypes& types) {
  TRY(CheckImage(types.operands[0]));
  return ValueType{.dtype = types.operands[0].dtype,
                   .shape = Reordered(types.operands[0].shape, 2, 0, 1)};
}

absl::StatusOr<ValueType> InferToHwc(const KernelTypes& types) {
  TRY(CheckImage(types.operands[0]));
  return ValueType{.dtype = types.operands[0].dtype,
                   .shape = Reordered(types.operands[0].shape, 1, 2, 0)};
}

absl::StatusOr<Column> RunToChw(const KernelCall& call) {
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const Shape& shape = image.tensor.shape();
    std::byte* place = TRY(out.Take(Reordered(shape, 2, 0, 1)));
    ToPlanes(image.tensor.values().data(),
             {.channels = shape[2],
              .pixels = shape[0] * shape[1],
              .value_bytes = core::SizeOf(image.tensor.dtype())},
             place);
    return absl::OkStatus();
  });
}

absl::StatusOr<Column> RunToHwc(const KernelCall& call) {
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow planes = TRY(ImageAt(call.operands[0], row));
    const Shape& shape = planes.tensor.shape();
    std::byte* place = TRY(out.Take(Reordered(shape, 1, 2, 0)));
    FromPlanes(planes.tensor.values().data(),
               {.channels = shape[0],
                .pixels = shape[1] * shape[2],
                .value_bytes = core::SizeOf(planes.tensor.dtype())},
               place);
    return absl::OkStatus();
  });
}

}  // namespace

KernelSchema FlipHorizontalKernel() {
  KernelSchema schema = FlipSchema(
      "flip_horizontal", "Mirrors an image left to right where a condition holds.");
  schema.run = RunFlip<FlipHorizontal>;
  return schema;
}

KernelSchema FlipVerticalKernel() {
  KernelSchema schema = FlipSchema(
      "flip_vertical", "Mirrors an image top to bottom where a condition holds.");
  schema.run = RunFlip<FlipVertical>;
  return schema;
}

KernelSchema RandomFlipKernel() {
  return {
      .name = "random_flip",
      .doc = "Mirrors some images, drawn at random.",
      .operands = {{"image", "An image of height, width and channels."}},
      .arguments = {{.name = "direction",
                     .type = ArgumentType::kText,
                     .doc = "Left to right (horizontal) or top to bottom (vertical).",
                     .default_value = "horizontal",
                     .choices = {"horizontal", "vertical"}},
                    ChanceArgument(0.5)},
      .random = true,
      .fails = Fails::kOnUnknownShapes,
      .infer = InferRandomFlip,
      .run = RunRandomFlip};
}

KernelSchema NormalizeKernel() {
  return {
      .name = "normalize",
      .doc = "Computes (x * scale - mean) / deviation by channel, as float32.",
      .operands = {{"image", "An image of height, width and channels, uint8."}},
      .arguments = {{.name = "mean",
                     .type = ArgumentType::kFloats,
                     .doc = "What to subtract, a number per channel."},
                    {.name = "deviation",
                     .type = ArgumentType::kFloats,
                     .doc = "What to divide by then, a number per channel, none 0."},
                    {.name = "scale",
                     .type = ArgumentType::kFloat,
                     .doc = "What to multiply by first; 1/255 makes 255 a 1.",
                     .default_value = 1.0 / 255},
                    {.name = "layout",
                     .type = ArgumentType::kText,
                     .doc = "The order of the axes: hwc as the image has them, or chw "
                            "with a plane for each channel.",
                     .default_value = "hwc",
                     .choices = {"hwc", "chw"}}},
      .fails = Fails::kOnUnknownShapes,
      .infer = InferNormalize,
      .run = RunNormalize};
}

KernelSchema ToChwKernel() {
  return {.name = "to_chw",
          .doc = "Makes a plane of each channel of an image.",
          .operands = {{"image", "An image of height, width and channels."}},
          .fails = Fails::kOnUnknownShapes,
          .infer = InferToChw,
          .run = RunToChw};
}

KernelSchema ToHwcKernel() {
  return {.name = "to_hwc",
          .doc = "Makes pixels of the planes of an image.",
          .operands = {{"planes", "An image of channels, height and width."}},
          .fails = Fails::kOnUnknownShapes,
          .infer = InferToHwc,
          .run = RunToHwc};
}

}  // namespace millrace::kernels
