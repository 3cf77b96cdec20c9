#include "millrace/exec/meters.h"

#include <atomic>
#include <vector>

#include "absl/time/time.h"

namespace millrace::exec {

std::vector<MeterReading> Meters::Read() const {
  std::vector<MeterReading> readings;
  readings.reserve(cells_.size());
  for (const Cell& cell : cells_) {
    readings.push_back(
        {.busy = absl::Nanoseconds(cell.busy.load(std::memory_order_relaxed)),
         .blocks = cell.blocks.load(std::memory_order_relaxed),
         .rows_in = cell.rows_in.load(std::memory_order_relaxed),
         .rows_out = cell.rows_out.load(std::memory_order_relaxed),
         .bytes_out = cell.bytes_out.load(std::memory_order_relaxed)});
  }
  return readings;
}

}  // namespace millrace::exec
