// pad, center_crop and random_crop: images with pixels around them, or fewer.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
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
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/image/pad.h"
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

constexpr const char* kImageDoc = "An image of height, width and channels.";

// --- What the three have in common ---

// What lies beyond the edges.
struct Beyond {
  PadMode mode = PadMode::kConstant;
  double fill = 0;

  static Beyond Of(const ir::Arguments& arguments) {
    return {.mode = PadModeOf(arguments["mode"].As<std::string>()),
            .fill = arguments["fill"].As<double>()};
  }
};

// Checks that a type can hold the number to fill with.
absl::Status CheckFill(double fill, DType dtype) {
  const bool fits = core::VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      return fill == 0 || fill == 1;
    } else if constexpr (std::is_integral_v<T>) {
      // Numbers beyond 2^53 are not asked for.
      return fill >= -0x1p53 && fill <= 0x1p53 &&
             fill == static_cast<double>(static_cast<T>(static_cast<int64_t>(fill)));
    } else {
      return true;
    }
  });
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("argument fill is not a value of ", core::Name(dtype), ": ", fill));
}

// One pixel to fill with, as bytes.
std::vector<uint8_t> FillPixel(double fill, DType dtype, int64_t channels) {
  std::vector<uint8_t> pixel(static_cast<size_t>(channels * core::SizeOf(dtype)));
  core::VisitDType(dtype, [&]<typename T>() {
    T value = {};
    if constexpr (std::is_arithmetic_v<T>) {
      value = static_cast<T>(fill);
    } else {
      value = static_cast<T>(static_cast<float>(fill));
    }
    for (size_t i = 0; i < pixel.size(); i += sizeof(T)) {
      std::memcpy(pixel.data() + i, &value, sizeof(T));
    }
  });
  return pixel;
}

// Writes what lies in a box as the next row.
absl::Status WritePadded(const ImageRow& image, const Box& box, const Beyond& beyond,
                         ResultRows& out) {
  TRY(CheckPadded(image.view, beyond.mode));
  auto* place = TRY(out.TakeAs<uint8_t>({box.height, box.width, image.channels()}));
  CutPadded(image.view, box, beyond.mode,
            FillPixel(beyond.fill, image.tensor.dtype(), image.channels()), place);
  return absl::OkStatus();
}

ArgumentSchema Pixels(std::string name, std::string doc, int64_t least) {
  ArgumentSchema schema = {.name = std::move(name),
                           .type = ArgumentType::kInt,
                           .doc = std::move(doc),
                           .least = least,
                           .most = kSideMax};
  if (least == 0) schema.default_value = 0;
  return schema;
}

ArgumentSchema FillArgument() {
  return {.name = "fill",
          .type = ArgumentType::kFloat,
          .doc = "The value beyond the edges where the mode is constant.",
          .default_value = 0.0};
}

ArgumentSchema ModeArgument() {
  return {
      .name = "mode",
      .type = ArgumentType::kText,
      .doc =
          "What lies beyond the edges: one value (constant), the pixel at the edge "
          "(edge), or the image mirrored, with the pixel at the edge once (reflect) "
          "or twice (symmetric).",
      .default_value = "constant",
      .choices = {"constant", "edge", "reflect", "symmetric"}};
}

ImageSize SizeOf(const ir::Arguments& arguments) {
  return {.height = arguments["height"].As<int64_t>(),
          .width = arguments["width"].As<int64_t>()};
}

// The type of images of the size that the arguments say.
absl::StatusOr<ValueType> InferSized(const KernelTypes& types) {
  const ValueType& image = types.operands[0];
  TRY(CheckImage(image));
  const ImageSize size = SizeOf(types.arguments);
  TRY(CheckImageSize(size));
  TRY(CheckFill(types.arguments["fill"].As<double>(), image.dtype));
  return ValueType{.dtype = image.dtype,
                   .shape = ImageShape(size.height, size.width, image)};
}

// --- pad ---

Box PaddedBox(const ImageSize& size, const ir::Arguments& arguments) {
  const auto side = [&](const char* name) { return arguments[name].As<int64_t>(); };
  return {.top = -side("top"),
          .left = -side("left"),
          .height = side("top") + size.height + side("bottom"),
          .width = side("left") + size.width + side("right")};
}

absl::StatusOr<ValueType> InferPad(const KernelTypes& types) {
  const ValueType& image = types.operands[0];
  TRY(CheckImage(image));
  TRY(CheckFill(types.arguments["fill"].As<double>(), image.dtype));
  core::Shape shape = SameImage(image).shape;
  const Box box = PaddedBox({.height = shape[0], .width = shape[1]}, types.arguments);
  const auto side = [&](int axis, int64_t padded) {
    return shape[axis] == core::kUnknownSize ? core::kUnknownSize : padded;
  };
  return ValueType{.dtype = image.dtype,
                   .shape = {side(0, box.height), side(1, box.width), shape[2]}};
}

absl::StatusOr<Column> RunPad(const KernelCall& call) {
  const Beyond beyond = Beyond::Of(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const Box box = PaddedBox(image.view.size, call.arguments);
    TRY(CheckImageSize(box.size()));
    return WritePadded(image, box, beyond, out);
  });
}

// --- center_crop ---

// Half of what is left over; of an odd number, rounded to the even half, as in Python.
int64_t Middle(int64_t rest) {
  if (rest < 0) return -(-rest / 2);
  return rest % 4 == 3 ? rest / 2 + 1 : rest / 2;
}

absl::StatusOr<Column> RunCenterCrop(const KernelCall& call) {
  const ImageSize size = SizeOf(call.arguments);
  const Beyond beyond = {.fill = call.arguments["fill"].As<double>()};
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const Box box = {.top = Middle(image.view.size.height - size.height),
                     .left = Middle(image.view.size.width - size.width),
                     .height = size.height,
                     .width = size.width};
    return WritePadded(image, box, beyond, out);
  });
}

// --- random_crop ---

// How many pixels to add at either end, so that a crop fits.
int64_t Margin(int64_t size, int64_t wanted, const ir::Arguments& arguments) {
  const int64_t padding = arguments["padding"].As<int64_t>();
  const bool needed = arguments["pad_if_needed"].As<bool>();
  const int64_t missing = wanted - (size + 2 * padding);
  return needed && missing > 0 ? padding + missing : padding;
}

absl::StatusOr<Box> DrawBox(const ImageSize& image, const ir::Arguments& arguments,
                            base::Generator generator) {
  const ImageSize size = SizeOf(arguments);
  const int64_t above = Margin(image.height, size.height, arguments);
  const int64_t before = Margin(image.width, size.width, arguments);
  const int64_t down = image.height + 2 * above - size.height;
  const int64_t across = image.width + 2 * before - size.width;
  if (down < 0 || across < 0) {
    return absl::InvalidArgumentError(
        base::StrCat("a crop of ", size.height, " x ", size.width,
                     " does not fit into an image of ", image.height, " x ",
                     image.width, " with its padding; pad_if_needed adds more"));
  }
  return Box{.top = generator.Integer(0, down + 1) - above,
             .left = generator.Integer(0, across + 1) - before,
             .height = size.height,
             .width = size.width};
}

absl::StatusOr<Column> RunRandomCrop(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const Beyond beyond = Beyond::Of(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const Box box = TRY(DrawBox(image.view.size, call.arguments, call.draws->For(row)));
    return WritePadded(image, box, beyond, out);
  });
}

}  // namespace

KernelSchema PadKernel() {
  return {.name = "pad",
          .doc = "Adds pixels around an image.",
          .operands = {{"image", kImageDoc}},
          .arguments = {Pixels("top", "How many rows to add above.", 0),
                        Pixels("left", "How many columns to add to the left.", 0),
                        Pixels("bottom", "How many rows to add below.", 0),
                        Pixels("right", "How many columns to add to the right.", 0),
                        ModeArgument(), FillArgument()},
          .fails = Fails::kOnData,
          .infer = InferPad,
          .run = RunPad};
}

KernelSchema CenterCropKernel() {
  return {.name = "center_crop",
          .doc =
              "Takes the middle of an image; where the image is smaller, there is a "
              "margin around it.",
          .operands = {{"image", kImageDoc}},
          .arguments = {Pixels("height", "The height of the result in pixels.", 1),
                        Pixels("width", "The width of the result in pixels.", 1),
                        FillArgument()},
          .fails = Fails::kOnUnknownShapes,
          .infer = InferSized,
          .run = RunCenterCrop};
}

KernelSchema RandomCropKernel() {
  return {.name = "random_crop",
          .doc = "Takes a part of an image from a random place, after padding it.",
          .operands = {{"image", kImageDoc}},
          .arguments = {Pixels("height", "The height of the result in pixels.", 1),
                        Pixels("width", "The width of the result in pixels.", 1),
                        Pixels("padding", "How many pixels to add at each side.", 0),
                        {.name = "pad_if_needed",
                         .type = ArgumentType::kBool,
                         .doc = "Whether an image that is too small gets more padding; "
                                "else it is an error of the row.",
                         .default_value = false},
                        ModeArgument(),
                        FillArgument()},
          .random = true,
          .fails = Fails::kOnData,
          .infer = InferSized,
          .run = RunRandomCrop};
}

}  // namespace millrace::kernels
