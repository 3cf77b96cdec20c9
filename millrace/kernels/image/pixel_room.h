// Memory for the pixels of one image after the other: taken once from a pool, and so in
// the processor's caches. It grows to the largest image that it has held. One thread.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"

namespace millrace::kernels {

class PixelRoom {
 public:
  // Requires: the pool outlives it.
  explicit PixelRoom(core::Pool& pool) : pool_(pool) {}

  // Gives room for so many bytes, content undefined. It is the room that was given
  // before, or instead of it.
  absl::StatusOr<absl::Span<uint8_t>> Take(int64_t bytes);

 private:
  core::Pool& pool_;
  core::Buffer memory_;
};

}  // namespace millrace::kernels
