// grayscale, adjust_brightness, adjust_contrast, adjust_saturation and adjust_hue: the
// colours of an image, changed by as much as an operand says.

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/shape.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/image/colour.h"
#include "millrace/kernels/image/colour_rows.h"
#include "millrace/kernels/image/image_operands.h"

namespace millrace::kernels {
namespace {

using core::Column;
using ir::Fails;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

constexpr const char* kImageDoc =
    "An image of height, width and 3 channels, or 1: uint8, or float32 from 0 to 1.";

// --- grayscale ---

int64_t GreyChannels(const ir::Arguments& arguments) {
  return arguments["channels"].As<int64_t>();
}

absl::StatusOr<ValueType> InferGrayscale(const KernelTypes& types) {
  const ValueType& image = types.operands[0];
  TRY(CheckColours(image));
  const int64_t channels = GreyChannels(types.arguments);
  if (channels != 1 && channels != 3) {
    return absl::InvalidArgumentError(
        base::StrCat("argument channels must be 1 or 3, not ", channels));
  }
  const core::Shape shape = SameImage(image).shape;
  return ValueType{.dtype = image.dtype, .shape = {shape[0], shape[1], channels}};
}

absl::StatusOr<Column> RunGrayscale(const KernelCall& call) {
  const int64_t channels = GreyChannels(call.arguments);
  return ChangeColours(
      call,
      [&]<typename T>(int64_t, const Colours<T>& image, T* out) {
        ToGrey(image, channels, out);
        return absl::OkStatus();
      },
      channels);
}

// --- adjust_brightness and the like ---

absl::StatusOr<ValueType> InferAdjust(const KernelTypes& types) {
  TRY(CheckColours(types.operands[0]));
  TRY(CheckNumber(types.operands[1], "one number to adjust by"));
  return SameImage(types.operands[0]);
}

struct Brightness {
  template <typename T>
  static absl::Status Change(const Colours<T>& image, double factor, T* out) {
    TRY(CheckFactor(factor));
    AdjustBrightness(image, factor, out);
    return absl::OkStatus();
  }
};

struct Contrast {
  template <typename T>
  static absl::Status Change(const Colours<T>& image, double factor, T* out) {
    TRY(CheckFactor(factor));
    AdjustContrast(image, factor, out);
    return absl::OkStatus();
  }
};

struct Saturation {
  template <typename T>
  static absl::Status Change(const Colours<T>& image, double factor, T* out) {
    TRY(CheckFactor(factor));
    AdjustSaturation(image, factor, out);
    return absl::OkStatus();
  }
};

struct Hue {
  template <typename T>
  static absl::Status Change(const Colours<T>& image, double shift, T* out) {
    TRY(CheckHueShift(shift));
    AdjustHue(image, shift, out);
    return absl::OkStatus();
  }
};

template <typename What>
absl::StatusOr<Column> RunAdjust(const KernelCall& call) {
  return ChangeColours(
      call,
      [&]<typename T>(int64_t row, const Colours<T>& image, T* out) -> absl::Status {
        const double by = TRY(NumberAt(call.operands[1], row));
        return What::Change(image, by, out);
      });
}

KernelSchema AdjustSchema(std::string name, std::string doc, ir::OperandSchema by) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"image", kImageDoc}, std::move(by)},
          .fails = Fails::kOnData,
          .infer = InferAdjust};
}

ir::OperandSchema Factor(const char* zero) {
  return {"factor", base::StrCat("A number from 0, which gives ", zero,
                                 ", over 1, which changes "
                                 "nothing, to 20; another is an error of the row.")};
}

}  // namespace

KernelSchema GrayscaleKernel() {
  return {.name = "grayscale",
          .doc = "Makes an image grey: 0.299 of red, 0.587 of green and 0.114 of blue.",
          .operands = {{"image", kImageDoc}},
          .arguments = {{.name = "channels",
                         .type = ir::ArgumentType::kInt,
                         .doc = "How many channels the result has: 1, or 3 that are "
                                "alike.",
                         .default_value = 3}},
          .fails = Fails::kOnUnknownShapes,
          .infer = InferGrayscale,
          .run = RunGrayscale};
}

KernelSchema AdjustBrightnessKernel() {
  KernelSchema schema =
      AdjustSchema("adjust_brightness",
                   "Multiplies every value of an image by a factor.", Factor("black"));
  schema.run = RunAdjust<Brightness>;
  return schema;
}

KernelSchema AdjustContrastKernel() {
  KernelSchema schema = AdjustSchema(
      "adjust_contrast",
      "Moves every value of an image away from the mean of its greys, or to it.",
      Factor("that mean everywhere"));
  schema.run = RunAdjust<Contrast>;
  return schema;
}

KernelSchema AdjustSaturationKernel() {
  KernelSchema schema =
      AdjustSchema("adjust_saturation",
                   "Moves every pixel of an image away from its own grey, or to it.",
                   Factor("greys"));
  schema.run = RunAdjust<Saturation>;
  return schema;
}

KernelSchema AdjustHueKernel() {
  KernelSchema schema = AdjustSchema(
      "adjust_hue",
      "Turns the hue of every pixel of an image around the colour circle.",
      {"shift",
       "A number from -0.5 to 0.5, as a share of the circle; another is an error of "
       "the row."});
  schema.run = RunAdjust<Hue>;
  return schema;
}

}  // namespace millrace::kernels
