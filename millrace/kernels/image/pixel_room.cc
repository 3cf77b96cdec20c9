#include "millrace/kernels/image/pixel_room.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/core/buffer.h"

namespace millrace::kernels {

absl::StatusOr<absl::Span<uint8_t>> PixelRoom::Take(int64_t bytes) {
  if (memory_.size() < bytes) {
    memory_ = {};  // First, so that both need not fit the budget.
    memory_ = TRY(pool_.Allocate(bytes));
  }
  return memory_.MutableAs<uint8_t>().first(static_cast<size_t>(bytes));
}

}  // namespace millrace::kernels
