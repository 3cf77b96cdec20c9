#include "millrace/kernels/image/float_operands.h"

#include "absl/status/status.h"

#include "millrace/base/status.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/image/float_image.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/typing.h"

namespace millrace::kernels {

absl::Status CheckBytesOrFloats(const ir::ValueType& type) {
  TRY(CheckImage(type));
  const bool fits =
      type.dtype == core::DType::kUint8 || type.dtype == core::DType::kFloat32;
  if (fits) return absl::OkStatus();
  return Needs("an image of uint8 or float32", {&type, 1},
               "cast first, as in cast(x, dtype=\"float32\")");
}

FloatImage FloatsOf(const ImageRow& image) {
  return {.first = image.tensor.As<float>().data(),
          .size = image.view.size,
          .channels = image.channels()};
}

}  // namespace millrace::kernels
