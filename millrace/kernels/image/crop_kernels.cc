// crop, random_crop_box, resize, random_resized_crop and decode_resized: from an image
// to a part of it or one of another size.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/image/crop_box.h"
#include "millrace/kernels/image/decode.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/image/pixel_room.h"
#include "millrace/kernels/image/resize.h"
#include "millrace/kernels/image/resize_weights.h"
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

// --- crop ---

absl::StatusOr<ValueType> InferCrop(const KernelTypes& types) {
  const ValueType& image = types.operands[0];
  TRY(CheckImage(image));
  TRY(CheckInts(types.operands[1], 4, "four int64 as box"));
  return ValueType{.dtype = image.dtype,
                   .shape = ImageShape(core::kUnknownSize, core::kUnknownSize, image)};
}

absl::StatusOr<Column> RunCrop(const KernelCall& call) {
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    const Box box = TRY(BoxAt(call.operands[1], row));
    TRY(CheckBox(box, image.view.size));
    auto* place = TRY(out.TakeAs<uint8_t>({box.height, box.width, image.channels()}));
    CopyPixels(PartOf(image.view, box), place);
    return absl::OkStatus();
  });
}

// --- random_crop_box ---

CropRanges RangesOf(const ir::Arguments& arguments) {
  return {.scale_low = arguments["scale_low"].As<double>(),
          .scale_high = arguments["scale_high"].As<double>(),
          .ratio_low = arguments["ratio_low"].As<double>(),
          .ratio_high = arguments["ratio_high"].As<double>()};
}

ArgumentSchema Range(std::string name, std::string doc, double default_value) {
  return {.name = std::move(name),
          .type = ArgumentType::kFloat,
          .doc = std::move(doc),
          .default_value = default_value};
}

std::vector<ArgumentSchema> RangeArguments() {
  const CropRanges ranges;
  return {
      Range("scale_low", "The least area of the box, as a share of the image's.",
            ranges.scale_low),
      Range("scale_high", "The largest such area.", ranges.scale_high),
      Range("ratio_low", "The least width of the box by its height.", ranges.ratio_low),
      Range("ratio_high", "The largest such ratio.", ranges.ratio_high)};
}

absl::StatusOr<ValueType> InferBox(const KernelTypes& types) {
  TRY(CheckInts(types.operands[0], 2, "two int64 as height and width"));
  TRY(CheckRanges(RangesOf(types.arguments)));
  return ValueType{.dtype = DType::kInt64, .shape = {4}};
}

absl::StatusOr<Column> RunBox(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const CropRanges ranges = RangesOf(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageSize size = TRY(SizeAt(call.operands[0], row));
    TRY(CheckImageSize(size));
    const Box box = DrawCropBox(size, ranges, call.draws->For(row));
    auto* place = TRY(out.TakeAs<int64_t>({4}));
    place[0] = box.top;
    place[1] = box.left;
    place[2] = box.height;
    place[3] = box.width;
    return absl::OkStatus();
  });
}

// --- resize ---

ResizeOptions OptionsOf(const ir::Arguments& arguments) {
  return {.size = {.height = arguments["height"].As<int64_t>(),
                   .width = arguments["width"].As<int64_t>()},
          .method = ResizeMethodOf(arguments["method"].As<std::string>()),
          .antialias = arguments["antialias"].As<bool>()};
}

std::vector<ArgumentSchema> ResizeArguments() {
  const auto side = [](std::string name, std::string doc) {
    return ArgumentSchema{.name = std::move(name),
                          .type = ArgumentType::kInt,
                          .doc = std::move(doc),
                          .least = 1,
                          .most = kSideMax};
  };
  return {side("height", "The height of the result in pixels."),
          side("width", "The width of the result in pixels."),
          {.name = "method",
           .type = ArgumentType::kText,
           .doc = "How values between pixels are found: nearest, bilinear or bicubic.",
           .default_value = "bilinear",
           .choices = {"nearest", "bilinear", "bicubic"}},
          {.name = "antialias",
           .type = ArgumentType::kBool,
           .doc = "Whether every source pixel counts where the image gets smaller, as "
                  "in Pillow; slower.",
           .default_value = false}};
}

absl::StatusOr<ValueType> InferResize(const KernelTypes& types) {
  const ValueType& image = types.operands[0];
  TRY(CheckByteImage(image));
  const ImageSize size = OptionsOf(types.arguments).size;
  TRY(CheckImageSize(size));
  return ValueType{.dtype = DType::kUint8,
                   .shape = ImageShape(size.height, size.width, image)};
}

// Writes a part of an image, resized, as the next row.
absl::Status WriteResized(const ImageRow& image, const Box& box,
                          const ResizeOptions& options, ResultRows& out) {
  auto* place = TRY(
      out.TakeAs<uint8_t>({options.size.height, options.size.width, image.channels()}));
  Resize(PartOf(image.view, box), options, place);
  return absl::OkStatus();
}

absl::StatusOr<Column> RunResize(const KernelCall& call) {
  const ResizeOptions options = OptionsOf(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    TRY(CheckImageSize(image.view.size));
    return WriteResized(image, WholeOf(image.view.size), options, out);
  });
}

// --- random_resized_crop ---

std::vector<ArgumentSchema> ResizedCropArguments() {
  std::vector<ArgumentSchema> arguments = ResizeArguments();
  for (ArgumentSchema& argument : RangeArguments()) {
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

absl::StatusOr<ValueType> InferResizedCrop(const KernelTypes& types) {
  TRY(CheckRanges(RangesOf(types.arguments)));
  return InferResize(types);
}

absl::StatusOr<Column> RunResizedCrop(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const ResizeOptions options = OptionsOf(call.arguments);
  const CropRanges ranges = RangesOf(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const ImageRow image = TRY(ImageAt(call.operands[0], row));
    TRY(CheckImageSize(image.view.size));
    const Box box = DrawCropBox(image.view.size, ranges, call.draws->For(row));
    return WriteResized(image, box, options, out);
  });
}

// --- decode_resized ---

absl::StatusOr<ValueType> InferDecodeResized(const KernelTypes& types) {
  TRY(CheckEncoded(types.operands[0]));
  TRY(CheckInts(types.operands[1], 4, "four int64 as box"));
  const ImageSize size = OptionsOf(types.arguments).size;
  TRY(CheckImageSize(size));
  return ValueType{.dtype = DType::kUint8,
                   .shape = {size.height, size.width, kColours}};
}

absl::StatusOr<Column> RunDecodeResized(const KernelCall& call) {
  const ResizeOptions options = OptionsOf(call.arguments);
  PixelRoom room(call.pool);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const core::Tensor encoded = TRY(EncodedRow(call.operands[0], row));
    const std::string_view bytes = encoded.TextAt(0);
    // Before memory is taken: the box may be anything.
    const Box box = TRY(BoxAt(call.operands[1], row));
    TRY(CheckBox(box, TRY(EncodedSize(bytes))));
    TRY(CheckImageSize(box.size()));
    const PixelView part = TRY(DecodePart(bytes, box, room));
    auto* place =
        TRY(out.TakeAs<uint8_t>({options.size.height, options.size.width, kColours}));
    Resize(part, options, place);
    return absl::OkStatus();
  });
}

}  // namespace

KernelSchema CropKernel() {
  return {.name = "crop",
          .doc = "Takes the part of an image that lies in a box.",
          .operands = {{"image", "An image of height, width and channels."},
                       {"box",
                        "Top, left, height and width in pixels, int64; outside of the "
                        "image it is an error of the row."}},
          .fails = Fails::kOnData,
          .infer = InferCrop,
          .run = RunCrop};
}

KernelSchema RandomCropBoxKernel() {
  return {.name = "random_crop_box",
          .doc =
              "Draws a box in an image, of random area and ratio, as torchvision's "
              "RandomResizedCrop does: top, left, height and width, int64.",
          .operands = {{"size", "Height and width of the image, int64."}},
          .arguments = RangeArguments(),
          .random = true,
          .fails = Fails::kOnData,
          .infer = InferBox,
          .run = RunBox};
}

KernelSchema ResizeKernel() {
  return {.name = "resize",
          .doc =
              "Makes an image of uint8 larger or smaller; pixels are squares, as in "
              "Pillow, TensorFlow and PyTorch.",
          .operands = {{"image", "An image of height, width and channels, uint8."}},
          .arguments = ResizeArguments(),
          .fails = Fails::kOnData,
          .infer = InferResize,
          .run = RunResize};
}

KernelSchema RandomResizedCropKernel() {
  return {
      .name = "random_resized_crop",
      .doc =
          "Crops an image to a box as random_crop_box draws it, and resizes what is "
          "in it.",
      .operands = {{"image", "An image of height, width and channels, uint8."}},
      .arguments = ResizedCropArguments(),
      .random = true,
      .fails = Fails::kOnData,
      .infer = InferResizedCrop,
      .run = RunResizedCrop};
}

KernelSchema DecodeResizedKernel() {
  return {
      .name = "decode_resized",
      .doc =
          "Decodes what lies in a box and makes it larger or smaller: the pixels of "
          "resize(decode_region(bytes, box)), without an image in between.",
      .operands = {{"bytes", "The bytes of one JPEG, PNG or WebP file per row."},
                   {"box",
                    "Top, left, height and width in pixels, int64; outside of the "
                    "image, or empty, it is an error of the row."}},
      .arguments = ResizeArguments(),
      .fails = Fails::kOnData,
      .infer = InferDecodeResized,
      .run = RunDecodeResized};
}

}  // namespace millrace::kernels
