// rotate, affine, random_rotation and random_affine.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
#include "millrace/kernels/image/float_operands.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/image/warp.h"
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

constexpr const char* kImageDoc =
    "An image of height, width and channels, uint8 or float32.";

// --- What the four have in common ---

// The colour beyond the edges for so many channels: one value for all, or one each.
absl::StatusOr<std::vector<uint8_t>> FillOf(const ir::Arguments& arguments,
                                            int64_t channels) {
  std::vector<uint8_t> fill;
  for (const ir::Value& value : arguments["fill"].As<ir::List>()) {
    fill.push_back(static_cast<uint8_t>(value.As<int64_t>()));
  }
  const auto given = static_cast<int64_t>(fill.size());
  if (given == 1) fill.resize(static_cast<size_t>(channels), fill[0]);
  if (given == 1 || given == channels) return fill;
  return absl::InvalidArgumentError(base::StrCat(
      "fill has ", given, " values, but the image has ", channels, " channels"));
}

absl::Status CheckWarped(const KernelTypes& types) {
  const ValueType& image = types.operands[0];
  TRY(CheckBytesOrFloats(image));
  const int64_t channels = SameImage(image).shape[2];
  if (types.arguments["fill"].As<ir::List>().empty()) {
    return absl::InvalidArgumentError("argument fill must have a value");
  }
  if (channels != core::kUnknownSize) TRY(FillOf(types.arguments, channels));
  for (size_t i = 1; i < types.operands.size(); ++i) {
    TRY(CheckNumber(types.operands[i], "numbers beside the image"));
  }
  return absl::OkStatus();
}

// Writes a warped image as the next row.
absl::Status WriteWarped(const ImageRow& image, const Affine& affine, bool expand,
                         const ir::Arguments& arguments, ResultRows& out) {
  TRY(CheckAffine(affine));
  TRY(CheckImageSize(image.view.size));
  const ImageSize size =
      expand ? TurnedSize(image.view.size, affine.angle) : image.view.size;
  TRY(CheckImageSize(size));
  const WarpOptions options = {
      .bilinear = arguments["method"].As<std::string>() == "bilinear",
      .fill = TRY(FillOf(arguments, image.channels()))};
  const core::Shape shape = {size.height, size.width, image.channels()};
  const AffineMap map = MapOf(affine, image.view.size, size);
  if (image.tensor.dtype() == core::DType::kUint8) {
    Warp(image.view, map, options, size, TRY(out.TakeAs<uint8_t>(shape)));
  } else {
    Warp(FloatsOf(image), map, options, size, TRY(out.TakeAs<float>(shape)));
  }
  return absl::OkStatus();
}

std::vector<ArgumentSchema> WarpArguments(std::vector<ArgumentSchema> first) {
  first.push_back({.name = "method",
                   .type = ArgumentType::kText,
                   .doc = "How values between pixels are found: nearest or bilinear.",
                   .default_value = "nearest",
                   .choices = {"nearest", "bilinear"}});
  first.push_back({.name = "fill",
                   .type = ArgumentType::kInts,
                   .doc =
                       "The colour beyond the edges: one value, or one by channel, as "
                       "the image has them.",
                   .default_value = ir::List{0},
                   .least = 0,
                   .most = 255});
  return first;
}

ArgumentSchema ExpandArgument() {
  return {.name = "expand",
          .type = ArgumentType::kBool,
          .doc =
              "Whether the result is large enough for all of the turned image; else "
              "it has the size of the image.",
          .default_value = false};
}

bool ExpandOf(const ir::Arguments& arguments) { return arguments["expand"].As<bool>(); }

ValueType TurnedImage(const KernelTypes& types) {
  const ValueType& image = types.operands[0];
  if (!ExpandOf(types.arguments)) return SameImage(image);
  return {.dtype = image.dtype,
          .shape = ImageShape(core::kUnknownSize, core::kUnknownSize, image)};
}

// --- rotate ---

absl::StatusOr<ValueType> InferRotate(const KernelTypes& types) {
  TRY(CheckWarped(types));
  return TurnedImage(types);
}

absl::StatusOr<Column> RunRotate(const KernelCall& call) {
  const bool expand = ExpandOf(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const double angle = TRY(NumberAt(call.operands[1], row));
    return WriteWarped(image, {.angle = -angle}, expand, call.arguments, out);
  });
}

// --- affine ---

absl::StatusOr<ValueType> InferAffine(const KernelTypes& types) {
  TRY(CheckWarped(types));
  return SameImage(types.operands[0]);
}

absl::StatusOr<Column> RunAffine(const KernelCall& call) {
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const Affine affine = {.angle = TRY(NumberAt(call.operands[1], row)),
                           .translate_x = TRY(NumberAt(call.operands[2], row)),
                           .translate_y = TRY(NumberAt(call.operands[3], row)),
                           .scale = TRY(NumberAt(call.operands[4], row)),
                           .shear_x = TRY(NumberAt(call.operands[5], row)),
                           .shear_y = TRY(NumberAt(call.operands[6], row))};
    return WriteWarped(image, affine, false, call.arguments, out);
  });
}

// --- random_rotation, random_affine ---

double NumberOf(const ir::Arguments& arguments, const char* name) {
  return arguments[name].As<double>();
}

absl::Status CheckRange(const ir::Arguments& arguments, const char* name, double most) {
  const double value = NumberOf(arguments, name);
  if (value >= 0 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("argument ", name, " must be from 0 to ", most, ", not ", value));
}

constexpr double kDegreesMost = 360;

absl::StatusOr<ValueType> InferRandomRotation(const KernelTypes& types) {
  TRY(CheckWarped(types));
  TRY(CheckRange(types.arguments, "degrees", kDegreesMost));
  return TurnedImage(types);
}

absl::StatusOr<Column> RunRandomRotation(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const double degrees = NumberOf(call.arguments, "degrees");
  const bool expand = ExpandOf(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const double angle = call.draws->For(row).Uniform(-degrees, degrees);
    return WriteWarped(image, {.angle = -angle}, expand, call.arguments, out);
  });
}

absl::StatusOr<ValueType> InferRandomAffine(const KernelTypes& types) {
  TRY(CheckWarped(types));
  TRY(CheckRange(types.arguments, "degrees", kDegreesMost));
  TRY(CheckRange(types.arguments, "translate_x", 1));
  TRY(CheckRange(types.arguments, "translate_y", 1));
  TRY(CheckRange(types.arguments, "shear_x", 85));
  TRY(CheckRange(types.arguments, "shear_y", 85));
  const double low = NumberOf(types.arguments, "scale_low");
  const double high = NumberOf(types.arguments, "scale_high");
  if (low >= 0.001 && low <= high && high <= 1000) return SameImage(types.operands[0]);
  return absl::InvalidArgumentError(base::StrCat(
      "scale_low and scale_high must go up, from 0.001 to 1000: ", low, " and ", high));
}

// Everything is drawn, in this order, whatever is asked for.
Affine DrawAffine(const ir::Arguments& arguments, const ImageSize& size,
                  base::Generator generator) {
  const auto around = [&](const char* name, double factor = 1) {
    const double most = NumberOf(arguments, name) * factor;
    return generator.Uniform(-most, most);
  };
  Affine affine;
  affine.angle = around("degrees");
  affine.translate_x =
      std::round(around("translate_x", static_cast<double>(size.width)));
  affine.translate_y =
      std::round(around("translate_y", static_cast<double>(size.height)));
  affine.scale = generator.Uniform(NumberOf(arguments, "scale_low"),
                                   NumberOf(arguments, "scale_high"));
  affine.shear_x = around("shear_x");
  affine.shear_y = around("shear_y");
  return affine;
}

absl::StatusOr<Column> RunRandomAffine(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const Affine affine =
        DrawAffine(call.arguments, image.view.size, call.draws->For(row));
    return WriteWarped(image, affine, false, call.arguments, out);
  });
}

ArgumentSchema Number(std::string name, std::string doc, double default_value) {
  return {.name = std::move(name),
          .type = ArgumentType::kFloat,
          .doc = std::move(doc),
          .default_value = default_value};
}

ArgumentSchema Degrees() {
  return {.name = "degrees",
          .type = ArgumentType::kFloat,
          .doc = "The angle is drawn from -degrees to degrees; at most 360."};
}

}  // namespace

KernelSchema RotateKernel() {
  return {.name = "rotate",
          .doc = "Turns an image around its middle.",
          .operands = {{"image", kImageDoc},
                       {"angle",
                        "Degrees against the clock, a number; what is not finite is an "
                        "error of the row."}},
          .arguments = WarpArguments({ExpandArgument()}),
          .fails = Fails::kOnData,
          .infer = InferRotate,
          .run = RunRotate};
}

KernelSchema AffineKernel() {
  return {
      .name = "affine",
      .doc =
          "Shears, turns, scales and moves an image, around its middle, as "
          "torchvision's affine does. Numbers beyond all use are errors of the row.",
      .operands = {{"image", kImageDoc},
                   {"angle", "Degrees with the clock, a number."},
                   {"translate_x", "Pixels to the right, a number."},
                   {"translate_y", "Pixels down, a number."},
                   {"scale", "How many times larger, a number from 0.001 to 1000."},
                   {"shear_x", "Degrees along the rows, from -85 to 85."},
                   {"shear_y", "Degrees along the columns, from -85 to 85."}},
      .arguments = WarpArguments({}),
      .fails = Fails::kOnData,
      .infer = InferAffine,
      .run = RunAffine};
}

KernelSchema RandomRotationKernel() {
  return {.name = "random_rotation",
          .doc = "Turns an image around its middle by a random angle.",
          .operands = {{"image", kImageDoc}},
          .arguments = WarpArguments({Degrees(), ExpandArgument()}),
          .random = true,
          .fails = Fails::kOnData,
          .infer = InferRandomRotation,
          .run = RunRandomRotation};
}

KernelSchema RandomAffineKernel() {
  return {
      .name = "random_affine",
      .doc =
          "Shears, turns, scales and moves an image by random amounts, as "
          "torchvision's RandomAffine does.",
      .operands = {{"image", kImageDoc}},
      .arguments = WarpArguments(
          {Degrees(),
           Number("translate_x",
                  "How far it is moved at most, left or right, as a share of the "
                  "width.",
                  0),
           Number("translate_y", "The same up or down, of the height.", 0),
           Number("scale_low", "The least scale.", 1),
           Number("scale_high", "The largest scale.", 1),
           Number("shear_x", "How many degrees it is sheared at most along rows.", 0),
           Number("shear_y", "The same along columns.", 0)}),
      .random = true,
      .fails = Fails::kOnData,
      .infer = InferRandomAffine,
      .run = RunRandomAffine};
}

}  // namespace millrace::kernels
