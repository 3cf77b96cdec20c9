// Gives out buffers and reuses their pages, within a budget in bytes. What is in use
// and what is kept for reuse never exceed the budget together. Nothing here waits: when
// the budget is full the caller gets ResourceExhausted and decides. Thread-safe.
// Buffers may outlive the pool. An allocation costs a lock; a new region, a call of the
// system.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"

namespace millrace::core {

struct PoolOptions {
  int64_t budget_bytes = std::numeric_limits<int64_t>::max();
};

struct PoolStats {
  int64_t used_bytes = 0;    // In buffers that somebody holds and that count.
  int64_t cached_bytes = 0;  // Kept for reuse.
  int64_t peak_bytes = 0;    // The most that was ever used and cached together.
  int64_t allocations = 0;   // Regions asked from the allocator.
  int64_t reuses = 0;        // Buffers given from what was kept.
};

class Pool {
 public:
  Pool(std::unique_ptr<Allocator> allocator, const PoolOptions& options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Gives a buffer of exactly `size` bytes, aligned to kAlignment, content undefined.
  absl::StatusOr<Buffer> Allocate(int64_t size);

  // Gives a buffer for `count` values of one type.
  template <typename T>
  absl::StatusOr<Buffer> AllocateFor(int64_t count) {
    return Allocate((base::Bytes(sizeof(T)) * count).count());
  }

  // Gives what is kept for reuse back to the system.
  void Trim();

  PoolStats stats() const;

  // As stats() has it, but without waiting for who uses the pool just now.
  int64_t used_bytes() const;

 private:
  class State;
  class PooledStorage;
  const std::shared_ptr<State> state_;
};

// The process's own pool: heap memory, no budget. For literals, tests and small tools;
// an engine has a pool of its own.
Pool& HeapPool();

}  // namespace millrace::core
