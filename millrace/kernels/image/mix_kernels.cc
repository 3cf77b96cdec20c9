// draw_mixup, draw_cutmix, mix_images and mix_labels: the images of a batch, mixed with
// each other, and their labels alike. A kernel gives one column, so that the draw is
// one of its own, which both the others read:
//   draw = draw_cutmix(image, alpha=1.0)
//   image = mix_images(image, draw)
//   label = mix_labels(label, draw, num_classes=1000)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
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
#include "millrace/kernels/image/batch_mix.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/result_rows.h"
#include "millrace/kernels/row_by_row.h"
#include "millrace/kernels/typing.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using ir::ArgumentType;
using ir::Fails;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

constexpr int kBatchRank = 4;
constexpr const char* kImagesDoc =
    "A batch of images: number, height, width and channels, uint8 or float32.";

// --- What they read ---

absl::Status CheckImages(const ValueType& type) {
  const bool ranked = !type.shape.ranked() || type.shape.rank() == kBatchRank;
  if (ranked && (type.dtype == DType::kUint8 || type.dtype == DType::kFloat32)) {
    return absl::OkStatus();
  }
  return Needs("a batch of images of uint8 or float32", {&type, 1},
               "batch makes one of images of the same size");
}

absl::Status CheckDraw(const ValueType& type) {
  const bool ranked = !type.shape.ranked() || type.shape.rank() == 1;
  if (ranked && type.dtype == DType::kFloat64) return absl::OkStatus();
  return Needs("what draw_mixup or draw_cutmix drew", {&type, 1});
}

absl::StatusOr<Tensor> ImagesAt(const ir::Operand& operand, int64_t row) {
  Tensor images = TRY(RowOf(operand, row));
  if (images.shape().rank() == kBatchRank) return images;
  return absl::InvalidArgumentError(base::StrCat(
      "needs a batch of images, not a value of shape ", images.shape().ToString()));
}

ImageSize SizeOfImages(const Tensor& images) {
  return {.height = images.shape()[1], .width = images.shape()[2]};
}

// The draw for a batch of so many.
absl::StatusOr<BatchMix> MixAt(const ir::Operand& operand, int64_t row, int64_t count) {
  const Tensor draw = TRY(RowOf(operand, row));
  BatchMix mix = TRY(BatchMix::Read(draw.As<double>()));
  const auto partners = static_cast<int64_t>(mix.partners.size());
  if (draw.shape().rank() == 1 && partners == count) return mix;
  return absl::InvalidArgumentError(
      base::StrCat("the draw is for ", partners, " images, but the batch has ", count));
}

// --- draw_mixup, draw_cutmix ---

absl::StatusOr<ValueType> InferDraw(const KernelTypes& types) {
  const ValueType& images = types.operands[0];
  TRY(CheckImages(images));
  const double alpha = types.arguments["alpha"].As<double>();
  if (!(alpha > 0 && alpha <= kAlphaMost)) {
    return absl::InvalidArgumentError(base::StrCat(
        "argument alpha must be above 0 and at most ", kAlphaMost, ", not ", alpha));
  }
  const int64_t count = images.shape.ranked() ? images.shape[0] : core::kUnknownSize;
  const bool known = count != core::kUnknownSize;
  return ValueType{.dtype = DType::kFloat64,
                   .shape = {known ? count + BatchMix::kHead : core::kUnknownSize}};
}

template <bool kCut>
absl::StatusOr<Column> RunDraw(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const double alpha = call.arguments["alpha"].As<double>();
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const Tensor images = TRY(ImagesAt(call.operands[0], row));
    const int64_t count = images.shape()[0];
    const ImageSize size = SizeOfImages(images);
    if (kCut) TRY(CheckImageSize(size));
    const base::Generator generator = call.draws->For(row);
    const BatchMix mix = kCut ? DrawCutmix(count, size, alpha, generator)
                              : DrawMixup(count, alpha, generator);
    mix.Write(TRY(out.TakeAs<double>({count + BatchMix::kHead})));
    return absl::OkStatus();
  });
}

KernelSchema DrawSchema(std::string name, std::string doc, double alpha) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"images", kImagesDoc}},
          .arguments = {{.name = "alpha",
                         .type = ArgumentType::kFloat,
                         .doc = "Both parameters of the Beta distribution from which "
                                "the share of an image is drawn that stays.",
                         .default_value = alpha}},
          .random = true,
          .fails = Fails::kOnData,
          .infer = InferDraw};
}

// --- mix_images ---

absl::StatusOr<ValueType> InferMixImages(const KernelTypes& types) {
  const ValueType& images = types.operands[0];
  TRY(CheckImages(images));
  TRY(CheckDraw(types.operands[1]));
  const int64_t open = core::kUnknownSize;
  return ValueType{
      .dtype = images.dtype,
      .shape = images.shape.ranked() ? images.shape : Shape({open, open, open, open})};
}

// Blends what lies along the leading axis with its partners.
template <typename T>
void BlendBatch(const Tensor& batch, const BatchMix& mix, T* out) {
  const absl::Span<const T> values = batch.As<T>();
  const auto count = static_cast<size_t>(batch.shape()[0]);
  const size_t size = count == 0 ? 0 : values.size() / count;
  for (size_t i = 0; i < count; ++i) {
    const auto partner = static_cast<size_t>(mix.partners[i]);
    BlendValues(values.subspan(i * size, size), values.subspan(partner * size, size),
                mix.lambda, out + i * size);
  }
}

// Copies all, and then the box out of each partner.
void CutImages(const Tensor& images, const BatchMix& mix, std::byte* out) {
  const std::byte* from = images.values().data();
  const Shape& shape = images.shape();
  const int64_t pixel = shape[3] * core::SizeOf(images.dtype());
  const int64_t stride = shape[2] * pixel;
  const int64_t image = shape[1] * stride;
  if (image == 0) return;
  std::memcpy(out, from, static_cast<size_t>(shape[0] * image));
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t row = mix.box.top; row < mix.box.top + mix.box.height; ++row) {
      const int64_t place = row * stride + mix.box.left * pixel;
      std::memcpy(out + i * image + place, from + mix.partners[i] * image + place,
                  static_cast<size_t>(mix.box.width * pixel));
    }
  }
}

absl::StatusOr<Column> RunMixImages(const KernelCall& call) {
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const Tensor images = TRY(ImagesAt(call.operands[0], row));
    const BatchMix mix = TRY(MixAt(call.operands[1], row, images.shape()[0]));
    TRY(CheckBox(mix.box, SizeOfImages(images)));
    std::byte* place = TRY(out.Take(images.shape()));
    if (mix.box.size().pixels() > 0) {
      CutImages(images, mix, place);
    } else if (images.dtype() == DType::kUint8) {
      BlendBatch(images, mix, reinterpret_cast<uint8_t*>(place));
    } else {
      BlendBatch(images, mix, reinterpret_cast<float*>(place));
    }
    return absl::OkStatus();
  });
}

// --- mix_labels ---

int64_t ClassesOf(const ir::Arguments& arguments) {
  return arguments["num_classes"].As<int64_t>();
}

absl::StatusOr<ValueType> InferMixLabels(const KernelTypes& types) {
  const ValueType& labels = types.operands[0];
  TRY(CheckDraw(types.operands[1]));
  const bool numbers = core::IsInteger(labels.dtype) && labels.dtype != DType::kUint64;
  const bool shares = labels.dtype == DType::kFloat32;
  const int rank = numbers ? 1 : 2;
  const bool fits = !labels.shape.ranked() || labels.shape.rank() == rank;
  if (!fits || (!numbers && !shares)) {
    return Needs("an integer per image, or float32 by image and class", {&labels, 1});
  }
  const int64_t classes = ClassesOf(types.arguments);
  if (numbers == (classes == 0)) {
    return absl::InvalidArgumentError(
        numbers ? "argument num_classes must be given for labels that are integers"
                : "argument num_classes is for labels that are integers only");
  }
  const auto known = [&](int axis) {
    return labels.shape.ranked() ? labels.shape[axis] : core::kUnknownSize;
  };
  return ValueType{.dtype = DType::kFloat32,
                   .shape = {known(0), numbers ? classes : known(1)}};
}

// Writes the shares of integers: of an image's class lambda, of its partner's the rest.
template <typename T>
absl::Status WriteClassesOf(const Tensor& labels, const BatchMix& mix, int64_t classes,
                            float* out) {
  const absl::Span<const T> values = labels.As<T>();
  for (const T value : values) {
    const int64_t label = +value;  // Promoted: a small type is no character.
    if (label >= 0 && label < classes) continue;
    return absl::InvalidArgumentError(
        base::StrCat("a label must be from 0 to ", classes - 1, ", not ", label));
  }
  std::fill_n(out, labels.count() * classes, 0.0F);
  for (size_t i = 0; i < values.size(); ++i, out += classes) {
    out[values[i]] += static_cast<float>(mix.lambda);
    out[values[mix.partners[i]]] += static_cast<float>(1 - mix.lambda);
  }
  return absl::OkStatus();
}

absl::Status WriteClasses(const Tensor& labels, const BatchMix& mix, int64_t classes,
                          float* out) {
  return core::VisitDType(labels.dtype(), [&]<typename T>() -> absl::Status {
    if constexpr (std::is_integral_v<T>) {
      return WriteClassesOf<T>(labels, mix, classes, out);
    }
    return absl::InternalError("labels are integers");
  });
}

absl::StatusOr<Column> RunMixLabels(const KernelCall& call) {
  const int64_t classes = ClassesOf(call.arguments);
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const Tensor labels = TRY(RowOf(call.operands[0], row));
    const int rank = classes == 0 ? 2 : 1;
    if (labels.shape().rank() != rank) {
      return absl::InvalidArgumentError(
          base::StrCat("needs the labels of a batch, not a value of shape ",
                       labels.shape().ToString()));
    }
    const int64_t count = labels.shape()[0];
    const int64_t width = classes == 0 ? labels.shape()[1] : classes;
    const BatchMix mix = TRY(MixAt(call.operands[1], row, count));
    auto* place = TRY(out.TakeAs<float>({count, width}));
    if (classes > 0) return WriteClasses(labels, mix, classes, place);
    BlendBatch(labels, mix, place);
    return absl::OkStatus();
  });
}

constexpr const char* kDrawDoc = "What draw_mixup or draw_cutmix drew for the batch.";

}  // namespace

KernelSchema DrawMixupKernel() {
  KernelSchema schema = DrawSchema(
      "draw_mixup",
      "Draws how the images of a batch are blended with each other (mixup), for "
      "mix_images and mix_labels.",
      0.2);
  schema.run = RunDraw<false>;
  return schema;
}

KernelSchema DrawCutmixKernel() {
  KernelSchema schema = DrawSchema(
      "draw_cutmix",
      "Draws which box of the images of a batch is replaced by that of others "
      "(CutMix), for mix_images and mix_labels.",
      1.0);
  schema.run = RunDraw<true>;
  return schema;
}

KernelSchema MixImagesKernel() {
  return {.name = "mix_images",
          .doc = "Mixes the images of a batch with each other, as was drawn.",
          .operands = {{"images", kImagesDoc}, {"draw", kDrawDoc}},
          .fails = Fails::kOnData,
          .infer = InferMixImages,
          .run = RunMixImages};
}

KernelSchema MixLabelsKernel() {
  return {.name = "mix_labels",
          .doc =
              "Mixes the labels of a batch as mix_images does its images: a share of "
              "each class by image, float32.",
          .operands = {{"labels",
                        "The class of each image, an integer, or a share of each class "
                        "by image, float32."},
                       {"draw", kDrawDoc}},
          .arguments = {{.name = "num_classes",
                         .type = ArgumentType::kInt,
                         .doc = "How many classes there are, for labels that are "
                                "integers.",
                         .default_value = 0,
                         .least = 0,
                         .most = 1'000'000}},
          .fails = Fails::kOnData,
          .infer = InferMixLabels,
          .run = RunMixLabels};
}

}  // namespace millrace::kernels
