// What the image kernels read: encoded images, images, boxes and sizes, of any layout,
// row by row and without a copy; and the typing rules that go with them. Errors about a
// row are InvalidArgument, to become row errors (result_rows.h). Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// --- Types ---

// Checks that an operand can be one encoded image per row.
absl::Status CheckEncoded(const ir::ValueType& type);

// Checks that an operand can have height, width and channels: an image.
absl::Status CheckImage(const ir::ValueType& type);

// The same, and that it is of bytes.
absl::Status CheckByteImage(const ir::ValueType& type);

// Checks that an operand can be `count` int64s: a box or a size.
absl::Status CheckInts(const ir::ValueType& type, int64_t count, const char* what);

// Checks that an operand can be an image of colours: uint8 or float32, and of three
// channels, or one.
absl::Status CheckColours(const ir::ValueType& type);

// Checks that an operand can be one number.
absl::Status CheckNumber(const ir::ValueType& type, const char* what);

// The type of an image as large as another and of the same values.
ir::ValueType SameImage(const ir::ValueType& image);

// The shape of an image of which the channels are those of `image`, as far as known.
core::Shape ImageShape(int64_t height, int64_t width, const ir::ValueType& image);

// --- Rows ---

// The bytes of an encoded image; they live as long as the tensor.
absl::StatusOr<core::Tensor> EncodedRow(const ir::Operand& operand, int64_t row);

// An image, with its pixels where they lie.
struct ImageRow {
  core::Tensor tensor;  // Keeps the pixels alive.
  PixelView view;       // A value of several bytes counts as several channels.

  int64_t channels() const { return tensor.shape()[2]; }
};

absl::StatusOr<ImageRow> ImageAt(const ir::Operand& operand, int64_t row);

absl::StatusOr<Box> BoxAt(const ir::Operand& operand, int64_t row);
absl::StatusOr<ImageSize> SizeAt(const ir::Operand& operand, int64_t row);

// A number of any type, as a double.
absl::StatusOr<double> NumberAt(const ir::Operand& operand, int64_t row);

// Checks that a row is an image of three channels, or one.
absl::Status CheckColours(const ImageRow& image);

absl::StatusOr<bool> ConditionAt(const ir::Operand& operand, int64_t row);

}  // namespace millrace::kernels
