// Operands that are images of bytes or of float32, for kernels that take both.
#pragma once

#include "absl/status/status.h"

#include "millrace/ir/type.h"
#include "millrace/kernels/image/float_image.h"
#include "millrace/kernels/image/image_operands.h"

namespace millrace::kernels {

// Checks that an operand can be an image of uint8 or float32, of any channels.
absl::Status CheckBytesOrFloats(const ir::ValueType& type);

// Views an image of float32; it lives as long as the row. Requires: it is one.
FloatImage FloatsOf(const ImageRow& image);

}  // namespace millrace::kernels
