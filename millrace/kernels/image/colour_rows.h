// Goes over the images of a call, of uint8 or float32, and writes each changed image
// where it belongs: for kernels that change colours. One thread.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/image/colour.h"
#include "millrace/kernels/image/image_operands.h"
#include "millrace/kernels/result_rows.h"

namespace millrace::kernels {

template <typename T>
Colours<T> ColoursOf(const ImageRow& image) {
  return {.first = image.tensor.As<T>().data(),
          .pixels = image.view.size.pixels(),
          .channels = image.channels()};
}

// Calls `change(row, colours, place)` for each row, with either type. The result has as
// many channels as the image, or as many as `channels` says.
template <typename Change>
absl::StatusOr<core::Column> ChangeColours(const ir::KernelCall& call,
                                           const Change& change, int64_t channels = 0) {
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const absl::StatusOr<ImageRow> image = ImageAt(call.operands[0], row);
    if (!image.ok()) return image.status();
    absl::Status right = CheckColours(*image);
    if (!right.ok()) return right;
    const core::Shape& shape = image->tensor.shape();
    const auto write = [&]<typename T>(T*) -> absl::Status {
      const absl::StatusOr<T*> place =
          out.TakeAs<T>({shape[0], shape[1], channels == 0 ? shape[2] : channels});
      if (!place.ok()) return place.status();
      return change(row, ColoursOf<T>(*image), *place);
    };
    return image->tensor.dtype() == core::DType::kUint8
               ? write(static_cast<uint8_t*>(nullptr))
               : write(static_cast<float*>(nullptr));
  });
}

}  // namespace millrace::kernels
