#include "millrace/exec/row_wise_stage.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/core/block.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/stage_run.h"

namespace millrace::exec {
namespace {

constexpr int64_t kFirstTaskRows = 16;  // Until it is known what a row costs.
constexpr int64_t kTaskRowsMax = int64_t{1} << 16;

}  // namespace

int64_t RowWiseStage::RowsPerTask() const {
  if (!work_.nanoseconds_per_row.known()) return kFirstTaskRows;
  const double rows = work_.task_nanoseconds / (work_.nanoseconds_per_row.value() + 1);
  return std::clamp<int64_t>(static_cast<int64_t>(rows), 1, kTaskRowsMax);
}

bool RowWiseStage::HasWork() const {
  // Results that wait for an earlier one take memory too.
  const auto outstanding_max = 2 * static_cast<int64_t>(work_.chains.size()) + 2;
  return !queue_.empty() && next_.HasRoom() && tickets_ - flushed_ < outstanding_max;
}

bool RowWiseStage::Claim(const Memory& memory, bool first, Task& task) {
  if (!HasWork()) return false;
  const int64_t rows = RowsPerTask();
  const auto bytes =
      static_cast<int64_t>(work_.bytes_per_row.value() * static_cast<double>(rows));
  if (!memory.HasRoom(bytes, first)) return false;
  task.reserved_bytes = bytes;
  task.ticket = tickets_++;
  if (!TakeRowsToSlots(rows, task)) TakeRows(rows, task);
  for (const Item& item : task.in) rows_claimed_ += item.block.rows();
  return true;
}

void RowWiseStage::TakeRows(int64_t rows, Task& task) {
  while (rows > 0 && !queue_.empty()) {
    task.in.push_back(queue_.PopRows(rows));
    rows -= std::max<int64_t>(task.in.back().block.rows(), 1);
  }
}

// Where a row will lie is known once all lanes before have all their rows, if not
// beforehand. Until then, and where there is no memory for a whole batch, rows are
// joined by copying.
bool RowWiseStage::TakeRowsToSlots(int64_t rows, Task& task) {
  if (!work_.slots) return false;
  if (work_.counted_lanes == turn_) FindPosition();
  if (!position_) return false;
  const int64_t position = *position_ + rows_claimed_;
  task.in.push_back(queue_.PopRows(std::min(rows, work_.slots->RowsFrom(position))));
  const int64_t taken = task.in.back().block.rows();
  if (taken == 0) return true;  // An error on its way, or a row left out.
  task.places = work_.slots->Claim(position, taken);
  return true;
}

void RowWiseStage::FindPosition() {
  if (position_) return;
  position_ = work_.counted_rows;
  work_.slots->GiveUp(*position_, rows_claimed_);
}

void RowWiseStage::Run(Task& task, int thread) {
  const int64_t start = meters_.Now();
  Chain& chain = *work_.chains[thread];
  chain.SetLane(lane_);
  for (Item& item : task.in) {
    if (item.left_out) {
      task.out.push_back(std::move(item));
      continue;
    }
    absl::Status status = item.status;
    task.rows_in += item.block.rows();
    const bool placed = !task.places.empty();
    if (placed) chain.WriteInto(std::exchange(task.places, {}));
    if (status.ok()) status = chain.Push(std::move(item.block));
    for (Item& made : chain.TakeOutput()) {
      made.position = item.position;
      made.digest = item.digest;
      made.key = item.key;
      task.out.push_back(std::move(made));
    }
    if (status.ok()) continue;
    if (placed) chain.WriteInto({});  // Other lanes use the chain after this one.
    task.out.push_back(Item::Error(std::move(status)));
    break;
  }
  task.in.clear();
  task.nanoseconds = meters_.Now() - start;
}

void RowWiseStage::Complete(Task task) {
  int64_t bytes = 0;
  for (const Item& item : task.out) {
    bytes += item.bytes;
    if (work_.slots && item.block.rows() > 0) work_.slots->See(item.block);
  }
  if (task.rows_in > 0) {
    const auto rows = static_cast<double>(task.rows_in);
    work_.nanoseconds_per_row.Add(static_cast<double>(task.nanoseconds) / rows);
    work_.bytes_per_row.Add(static_cast<double>(bytes) / rows);
  }
  finished_.emplace(task.ticket, std::move(task.out));
  Flush();
  EndIfDone();
}

void RowWiseStage::Flush() {
  while (!finished_.empty() && finished_.begin()->first == flushed_) {
    for (Item& item : finished_.begin()->second) next_.Accept(std::move(item));
    finished_.erase(finished_.begin());
    ++flushed_;
  }
}

void RowWiseStage::EndInput() {
  input_ended_ = true;
  if (counts_ && work_.slots && work_.counted_lanes == turn_) {
    FindPosition();
    work_.counted_rows += rows_accepted_;
    ++work_.counted_lanes;
  }
  EndIfDone();
}

void RowWiseStage::EndIfDone() {
  if (!input_ended_ || !queue_.empty() || tickets_ != flushed_) return;
  next_.EndInput();
}

}  // namespace millrace::exec
