#include "millrace/kernels/image/image_operands.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/row_by_row.h"
#include "millrace/kernels/typing.h"

namespace millrace::kernels {
namespace {

using core::DType;
using core::Shape;
using core::Tensor;
using ir::Operand;
using ir::ValueType;

constexpr int kImageRank = 3;

// Whether a value of this type can have this shape.
bool CanBe(const ValueType& type, const Shape& shape) {
  if (!type.shape.ranked()) return true;
  if (type.shape.rank() != shape.rank()) return false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool open =
        type.shape[axis] == core::kUnknownSize || shape[axis] == core::kUnknownSize;
    if (!open && type.shape[axis] != shape[axis]) return false;
  }
  return true;
}

absl::Status WrongShape(std::string_view wanted, const Shape& shape) {
  return absl::InvalidArgumentError(
      base::StrCat("needs ", wanted, ", not a value of shape ", shape.ToString()));
}

// The `kCount` integers of a row.
template <size_t kCount>
absl::StatusOr<std::array<int64_t, kCount>> IntsAt(const Operand& operand, int64_t row,
                                                   std::string_view what) {
  const Tensor tensor = TRY(RowOf(operand, row));
  if (tensor.shape() != Shape({kCount})) return WrongShape(what, tensor.shape());
  std::array<int64_t, kCount> ints = {};
  const absl::Span<const int64_t> values = tensor.As<int64_t>();
  for (size_t i = 0; i < kCount; ++i) ints[i] = values[i];
  return ints;
}

absl::Status WrongChannels(int64_t channels) {
  return absl::InvalidArgumentError(
      base::StrCat("needs an image of 3 channels, or 1, but the image has ", channels));
}

}  // namespace

absl::Status CheckEncoded(const ValueType& type) {
  if (core::IsVariable(type.dtype) && CanBe(type, Shape())) return absl::OkStatus();
  return Needs("the bytes of one encoded image", {&type, 1});
}

absl::Status CheckImage(const ValueType& type) {
  const Shape any = {core::kUnknownSize, core::kUnknownSize, core::kUnknownSize};
  if (!core::IsVariable(type.dtype) && CanBe(type, any)) return absl::OkStatus();
  return Needs("an image of height, width and channels", {&type, 1},
               core::IsVariable(type.dtype) ? "decode_image makes one of bytes" : "");
}

absl::Status CheckByteImage(const ValueType& type) {
  TRY(CheckImage(type));
  if (type.dtype == DType::kUint8) return absl::OkStatus();
  return Needs("an image of uint8", {&type, 1},
               "cast first, as in cast(x, dtype=\"uint8\")");
}

absl::Status CheckInts(const ValueType& type, int64_t count, const char* what) {
  if (type.dtype == DType::kInt64 && CanBe(type, {count})) return absl::OkStatus();
  return Needs(what, {&type, 1});
}

absl::Status CheckColours(const ValueType& type) {
  TRY(CheckImage(type));
  if (type.dtype != DType::kUint8 && type.dtype != DType::kFloat32) {
    return Needs("an image of uint8 or float32", {&type, 1},
                 "cast first, as in cast(x, dtype=\"uint8\")");
  }
  const int64_t channels = type.shape.ranked() ? type.shape[2] : core::kUnknownSize;
  const bool open = channels == core::kUnknownSize;
  if (open || channels == 1 || channels == kColours) return absl::OkStatus();
  return WrongChannels(channels);
}

absl::Status CheckNumber(const ValueType& type, const char* what) {
  if (core::IsNumeric(type.dtype) && CanBe(type, Shape())) return absl::OkStatus();
  return Needs(what, {&type, 1});
}

ValueType SameImage(const ValueType& image) {
  const Shape open = {core::kUnknownSize, core::kUnknownSize, core::kUnknownSize};
  return {.dtype = image.dtype, .shape = image.shape.ranked() ? image.shape : open};
}

Shape ImageShape(int64_t height, int64_t width, const ValueType& image) {
  const int64_t channels = image.shape.ranked() ? image.shape[2] : core::kUnknownSize;
  return {height, width, channels};
}

absl::StatusOr<Tensor> EncodedRow(const Operand& operand, int64_t row) {
  Tensor tensor = TRY(RowOf(operand, row));
  if (tensor.shape().is_scalar()) return tensor;
  return WrongShape("the bytes of one encoded image", tensor.shape());
}

absl::StatusOr<ImageRow> ImageAt(const Operand& operand, int64_t row) {
  Tensor tensor = TRY(RowOf(operand, row));
  const Shape& shape = tensor.shape();
  if (shape.rank() != kImageRank) {
    return WrongShape("an image of height, width and channels", shape);
  }
  const PixelView view = DenseView(
      reinterpret_cast<const uint8_t*>(tensor.values().data()),
      {.height = shape[0], .width = shape[1]}, shape[2] * core::SizeOf(tensor.dtype()));
  return ImageRow{.tensor = std::move(tensor), .view = view};
}

absl::StatusOr<Box> BoxAt(const Operand& operand, int64_t row) {
  const auto ints = TRY(IntsAt<4>(operand, row, "top, left, height and width"));
  return Box{.top = ints[0], .left = ints[1], .height = ints[2], .width = ints[3]};
}

absl::StatusOr<ImageSize> SizeAt(const Operand& operand, int64_t row) {
  const auto ints = TRY(IntsAt<2>(operand, row, "height and width"));
  return ImageSize{.height = ints[0], .width = ints[1]};
}

absl::StatusOr<double> NumberAt(const Operand& operand, int64_t row) {
  const Tensor tensor = TRY(RowOf(operand, row));
  if (!tensor.shape().is_scalar()) return WrongShape("one number", tensor.shape());
  return core::VisitDType(tensor.dtype(), [&]<typename T>() {
    const T value = tensor.As<T>()[0];
    if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(value);
    return static_cast<double>(static_cast<float>(value));  // Of 16 bits.
  });
}

absl::Status CheckColours(const ImageRow& image) {
  const int64_t channels = image.channels();
  if (channels == 1 || channels == kColours) return absl::OkStatus();
  return WrongChannels(channels);
}

absl::StatusOr<bool> ConditionAt(const Operand& operand, int64_t row) {
  const Tensor tensor = TRY(RowOf(operand, row));
  if (!tensor.shape().is_scalar()) return WrongShape("one bool", tensor.shape());
  return tensor.As<bool>()[0];
}

}  // namespace millrace::kernels
