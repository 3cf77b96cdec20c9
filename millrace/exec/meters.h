// What every operator of a pass did: time, rows and bytes. Threads add to them as they
// work; reading is for profiles and decisions, and may be a moment behind. Feeding
// costs two clock readings for a block and an operator.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"

#include "millrace/base/clock.h"

namespace millrace::exec {

// A moment's reading of one operator.
struct MeterReading {
  absl::Duration busy;  // Over all threads.
  int64_t blocks = 0;   // Taken; of a source, given.
  int64_t rows_in = 0;
  int64_t rows_out = 0;
  int64_t bytes_out = 0;
};

class Meters {
 public:
  // Requires: the clock outlives it.
  Meters(size_t places, const base::Clock& clock, bool on = true)
      : clock_(clock), on_(on), cells_(places) {}

  // Whether anybody is to know: feeding costs nothing where not.
  bool on() const { return on_; }

  // Reads the clock, as nanoseconds since some moment.
  int64_t Now() const { return absl::ToInt64Nanoseconds(clock_.Monotonic()); }

  void AddTime(int place, int64_t nanoseconds) { Add(cells_[place].busy, nanoseconds); }

  // Time that a thread waited for disks.
  void AddFetching(int64_t nanoseconds) { Add(fetching_, nanoseconds); }

  absl::Duration fetching() const {
    return absl::Nanoseconds(fetching_.load(std::memory_order_relaxed));
  }

  void AddInput(int place, int64_t rows) {
    Add(cells_[place].blocks, 1);
    Add(cells_[place].rows_in, rows);
  }

  void AddOutput(int place, int64_t rows, int64_t bytes) {
    Add(cells_[place].rows_out, rows);
    Add(cells_[place].bytes_out, bytes);
  }

  std::vector<MeterReading> Read() const;

 private:
  struct Cell {
    std::atomic<int64_t> busy = 0;
    std::atomic<int64_t> blocks = 0;
    std::atomic<int64_t> rows_in = 0;
    std::atomic<int64_t> rows_out = 0;
    std::atomic<int64_t> bytes_out = 0;
  };

  void Add(std::atomic<int64_t>& cell, int64_t amount) const {
    if (on_) cell.fetch_add(amount, std::memory_order_relaxed);
  }

  const base::Clock& clock_;
  const bool on_;
  std::vector<Cell> cells_;
  std::atomic<int64_t> fetching_ = 0;
};

}  // namespace millrace::exec
