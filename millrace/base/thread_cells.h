// A row of counters with one copy per thread, for metrics.h. Each thread adds to its
// own copy with a relaxed load and store that no other thread contends for; Sum() adds
// up the copies of living threads and what finished threads left behind, exactly.
// Adding is safe from any thread and takes a nanosecond or so; the first time on a
// thread takes a lock.
//
//   thread 1:  [slot 0][slot 1][slot 2] ...      one slot per ThreadCells in use
//                          |
//                          +--> cells: [bucket 0][bucket 1] ... [sum]
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"

#include "millrace/base/mutex.h"

namespace millrace::base {

class ThreadCells {
 public:
  // Makes `width` counters, all zero.
  explicit ThreadCells(size_t width);
  ThreadCells(const ThreadCells&) = delete;
  ThreadCells& operator=(const ThreadCells&) = delete;
  // Requires: no thread adds any more.
  ~ThreadCells();

  // Adds to one counter. Requires: index < width.
  void Add(size_t index, uint64_t amount) {
    const Slots& slots = slots_of_thread;
    if (ABSL_PREDICT_TRUE(slot_ < slots.size && slots.first[slot_].owner == owner_)) {
      std::atomic<uint64_t>& cell = slots.first[slot_].cells[index];
      cell.store(cell.load(std::memory_order_relaxed) + amount,
                 std::memory_order_relaxed);
    } else {
      AddFirst(index, amount);
    }
  }

  // Returns the totals over all threads, wrapping around at 2^64.
  std::vector<uint64_t> Sum() const;

 private:
  struct FreeCells {
    void operator()(std::atomic<uint64_t>* cells) const;
  };

  using Cells = std::unique_ptr<std::atomic<uint64_t>[], FreeCells>;

  // Where a thread finds its cells. A slot is used again after its ThreadCells is gone;
  // `owner` tells whose cells it holds now.
  struct Slot {
    uint64_t owner = 0;
    std::atomic<uint64_t>* cells = nullptr;
  };

  struct Slots {
    Slot* first = nullptr;
    size_t size = 0;
  };

  static constinit thread_local Slots slots_of_thread;

  // All objects of the process, by slot; a free slot holds null.
  struct Process {
    uint64_t owners = 0;
    std::vector<ThreadCells*> objects;
    std::vector<size_t> free_slots;
  };
  struct Thread;

  // One mutex for all objects: it orders the end of a thread against that of an object.
  static Mutex mutex;
  static Process& process() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Adds when this thread has no cells here yet, or is already ending.
  [[gnu::cold, gnu::noinline]] void AddFirst(size_t index, uint64_t amount);

  // Keeps what an ending thread counted, and frees its cells.
  void HandIn(const std::atomic<uint64_t>* cells) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  static void AddTo(std::vector<uint64_t>& totals, const std::atomic<uint64_t>* cells);
  Cells MakeCells() const;
  static void GrowSlots(size_t size);

  const size_t width_;
  size_t slot_ = 0;     // Index into every thread's slots.
  uint64_t owner_ = 0;  // Never the same for two objects of a process.
  std::vector<Cells> living_ ABSL_GUARDED_BY(mutex);
  std::vector<uint64_t> finished_ ABSL_GUARDED_BY(mutex);
};

}  // namespace millrace::base
