// A run of frames that can be read: a file's, or a cache's in memory. One thread uses
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/frames/frame.h"

namespace millrace::storage {

class FrameRun {
 public:
  virtual ~FrameRun() = default;

  // Its frames, in order.
  virtual absl::Span<const frames::FrameSize> frames() const = 0;

  // Reads the bytes of a frame; ReadNow as many as take no waiting, and gives how many.
  // Requires: just the room for them.
  virtual absl::Status Read(int64_t frame, absl::Span<std::byte> room) const = 0;
  virtual absl::StatusOr<int64_t> ReadNow(int64_t frame,
                                          absl::Span<std::byte> room) const = 0;

  // Says where it is, for messages.
  virtual std::string name() const = 0;
};

}  // namespace millrace::storage
