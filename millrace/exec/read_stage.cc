#include "millrace/exec/read_stage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

constexpr size_t kGivenMax = 2;  // Blocks that wait for earlier ranges, per range.
constexpr int64_t kTaskBytes = int64_t{256} << 10;  // Of rows that are computed.

}  // namespace

// Notes rows that the reader leaves out where they would have been.
class ReadStage::Notes final : public ops::BadRows {
 public:
  Notes(const ReadStage& stage, Task& task) : stage_(stage), task_(task) {}

  absl::Status LeaveOut(const ops::BadRow& row) override {
    if (!stage_.work_.ignored) return row.why;
    task_.out.push_back(Item::LeftOut({.place = 0, .why = stage_.Named(row.why)}));
    return absl::OkStatus();
  }

 private:
  const ReadStage& stage_;
  Task& task_;
};

ReadStage::ReadStage(ReadWork& work, int64_t lane, std::vector<lanes::RowRange> ranges,
                     Sink& next, Meters& meters)
    : work_(work),
      lane_(lane),
      ranges_(std::move(ranges)),
      next_(next),
      meters_(meters) {
  CHECK(!ranges_.empty());
  OpenSlots();
}

void ReadStage::Accept(Item /*item*/) { CHECK(false) << "a source takes nothing"; }

void ReadStage::EndInput() { CHECK(false) << "a source takes nothing"; }

void ReadStage::OpenSlots() {
  while (static_cast<int64_t>(slots_.size()) < work_.readers && !all_opened()) {
    slots_.push_back({.ticket = static_cast<int64_t>(next_range_++),
                      .state = work_.source.waits() ? Slot::State::kWantsFetch
                                                    : Slot::State::kWantsNext,
                      .reader = nullptr,
                      .given = {}});
  }
}

bool ReadStage::Claim(const Memory& memory, bool first, Task& task) {
  return ClaimSlot(Slot::State::kWantsNext, memory, first, task);
}

bool ReadStage::ClaimFetch(const Memory& memory, bool first, Task& task) {
  return ClaimSlot(Slot::State::kWantsFetch, memory, first, task);
}

bool ReadStage::ClaimSlot(Slot::State wanted, const Memory& memory, bool first,
                          Task& task) {
  for (Slot& slot : slots_) {
    if (slot.state != wanted || !HasRoomFor(slot)) continue;
    const auto bytes = static_cast<int64_t>(work_.bytes_per_block.value());
    if (!memory.HasRoom(bytes, first && &slot == &slots_.front())) continue;
    slot.state = Slot::State::kBusy;
    task.ticket = slot.ticket;
    task.reader = std::move(slot.reader);
    task.fetches = wanted == Slot::State::kWantsFetch;
    task.reserved_bytes = bytes;
    return true;
  }
  return false;
}

bool ReadStage::HasSlot(Slot::State wanted) const {
  return std::ranges::any_of(slots_, [&](const Slot& slot) {
    return slot.state == wanted && HasRoomFor(slot);
  });
}

// What the first range gives goes on at once; what others give waits for it.
bool ReadStage::HasRoomFor(const Slot& slot) const {
  const bool is_first = &slot == &slots_.front();
  return is_first ? next_.HasRoom() : slot.given.size() < kGivenMax;
}

void ReadStage::Run(Task& task, int /*thread*/) {
  const int64_t start = meters_.Now();
  absl::Status status = Work(task);
  const int64_t taken = meters_.Now() - start;
  if (task.fetches) {
    meters_.AddFetching(taken);
  } else {
    meters_.AddTime(0, taken);
  }
  if (status.ok()) return;
  task.out.push_back(Item::Error(Named(status)));
  task.done = true;
}

absl::Status ReadStage::Work(Task& task) {
  if (task.reader == nullptr) {
    task.reader = TRY(work_.source.Open(ranges_[task.ticket]));
  }
  if (task.fetches) return task.reader->Fetch();
  if (work_.source.waits()) return ReadBlock(task);
  int64_t bytes = 0;
  while (!task.done && bytes < kTaskBytes) {
    TRY(ReadBlock(task));
    if (!task.done) bytes += task.out.back().bytes;
  }
  return absl::OkStatus();
}

absl::Status ReadStage::ReadBlock(Task& task) {
  Notes notes(*this, task);
  std::optional<core::Block> block = TRY(task.reader->Next(notes));
  task.done = !block.has_value();
  if (task.done || block->rows() == 0) return absl::OkStatus();
  task.out.push_back(Item::Of(*std::move(block)));
  meters_.AddInput(0, 0);
  meters_.AddOutput(0, task.out.back().block.rows(), task.out.back().bytes);
  return absl::OkStatus();
}

absl::Status ReadStage::Named(const absl::Status& status) const {
  return base::Annotate(status, base::StrCat(work_.name, " (%0), lane ", lane_));
}

void ReadStage::Complete(Task task) {
  Slot& slot = slots_[task.ticket - slots_.front().ticket];
  slot.state = StateAfter(task);
  if (!task.done) slot.reader = std::move(task.reader);
  for (Item& item : task.out) {
    if (item.block.rows() > 0)
      work_.bytes_per_block.Add(static_cast<double>(item.bytes));
    slot.given.push_back(std::move(item));
  }
  Flush();
}

ReadStage::Slot::State ReadStage::StateAfter(const Task& task) const {
  if (task.done) return Slot::State::kEnded;
  const bool wants_fetch = !task.fetches && work_.source.waits();
  return wants_fetch ? Slot::State::kWantsFetch : Slot::State::kWantsNext;
}

void ReadStage::Flush() {
  while (!slots_.empty()) {
    Slot& front = slots_.front();
    for (; !front.given.empty(); front.given.pop_front()) {
      next_.Accept(std::move(front.given.front()));
    }
    if (front.state != Slot::State::kEnded) break;
    slots_.pop_front();
  }
  OpenSlots();
  if (!slots_.empty() || ended_) return;
  ended_ = true;
  next_.EndInput();
}

}  // namespace millrace::exec
