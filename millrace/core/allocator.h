// Where memory comes from: the heap, memory shared between processes, or memory pinned
// for a device. A pool asks an allocator for whole regions and reuses them, so none of
// these is called per block. Thread-safe: implementations hold no state of their own.
//
//   pool ──► pinned ──► heap or shared memory ──► the system
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::core {

// Every region starts on this boundary: a cache line, and what TensorFlow insists on.
inline constexpr int64_t kAlignment = 64;

struct Region {
  std::byte* data = nullptr;
  int64_t size = 0;
  int descriptor = -1;  // Of the shared memory behind it; -1 when there is none.
};

class Allocator {
 public:
  virtual ~Allocator() = default;

  // Regions come in multiples of this many bytes.
  virtual int64_t granularity() const { return kAlignment; }

  // Gives a region of `size` bytes, rounded up to granularity() and aligned to
  // kAlignment; its content is undefined. Requires: size > 0.
  virtual absl::StatusOr<Region> Allocate(int64_t size) = 0;

  // Takes back a region, as this allocator gave it.
  virtual void Free(const Region& region) = 0;
};

// Ordinary memory; large regions come straight from the system, in whole pages.
std::unique_ptr<Allocator> MakeHeapAllocator();

// Memory that other processes can map through its descriptor (a memfd: it has no name,
// so nothing is left behind when the process dies). Its size is sealed, so that no
// process can shrink it under another's feet.
std::unique_ptr<Allocator> MakeSharedMemoryAllocator();

// What a device's runtime offers to pin memory. Handed in, so that nothing here links
// it.
struct PinHooks {
  std::function<absl::Status(std::byte* data, int64_t size)> pin;
  std::function<void(std::byte* data, int64_t size)> unpin;
};

// Memory of another allocator, pinned while it is held.
std::unique_ptr<Allocator> MakePinnedAllocator(std::unique_ptr<Allocator> below,
                                               PinHooks hooks);

}  // namespace millrace::core
