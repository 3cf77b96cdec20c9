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
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

constexpr size_t kWaitingMax = 2;  // Pieces that wait for earlier parts, per part.
constexpr int64_t kTaskBytes = int64_t{256} << 10;  // Of rows that are computed.

}  // namespace

// Takes rows, and notes those that are left out where they would have been.
class ReadStage::Notes final : public ops::RowsSink {
 public:
  Notes(const ReadStage& stage, Task& task) : stage_(stage), task_(task) {}

  absl::Status Give(core::Block block) override {
    if (block.rows() == 0) return absl::OkStatus();
    task_.out.push_back(Item::Of(std::move(block)));
    const Item& item = task_.out.back();
    stage_.meters_.AddInput(0, 0);
    stage_.meters_.AddOutput(0, item.block.rows(), item.bytes);
    return absl::OkStatus();
  }

  absl::Status LeaveOut(const ops::BadRow& row) override {
    if (!stage_.work_.ignored) return row.why;
    task_.out.push_back(Item::LeftOut({.place = 0, .why = stage_.Named(row.why)}));
    return absl::OkStatus();
  }

 private:
  const ReadStage& stage_;
  Task& task_;
};

ReadStage::ReadStage(ReadWork& work, int64_t lane, std::vector<ops::RowRanges> parts,
                     Sink& next, Meters& meters)
    : work_(work), lane_(lane), parts_(std::move(parts)), next_(next), meters_(meters) {
  CHECK(!parts_.empty());
  OpenSlots();
}

void ReadStage::Accept(Item /*item*/) { CHECK(false) << "a source takes nothing"; }

void ReadStage::EndInput() { CHECK(false) << "a source takes nothing"; }

void ReadStage::OpenSlots() {
  while (static_cast<int64_t>(slots_.size()) < work_.readers && !all_opened()) {
    const bool waits = work_.source.waits();
    slots_.push_back(
        {.ticket = static_cast<int64_t>(next_part_++),
         .state = waits ? Slot::State::kWantsFetch : Slot::State::kWantsFind,
         .fetched = !waits,
         .at_hand = !waits,
         .reader = nullptr});
  }
}

// What was found is still warm: it goes first.
bool ReadStage::Claim(const Memory& memory, bool first, Task& task) {
  return ClaimPiece(memory, first, task) ||
         ClaimSlot(Slot::State::kWantsFind, memory, first, task);
}

bool ReadStage::ClaimFetch(const Memory& memory, bool first, Task& task) {
  return ClaimSlot(Slot::State::kWantsFetch, memory, first, task);
}

bool ReadStage::HasMemory(const Memory& memory, bool first, const Slot& slot,
                          Task& task) const {
  task.reserved_bytes = static_cast<int64_t>(work_.bytes_per_task.value());
  const bool is_first = first && &slot == &slots_.front();
  // Reading ahead leaves memory for what is done with the rows.
  const int64_t left_over = memory.budget_bytes() / (is_first ? 4 : 2);
  return memory.HasRoom(task.reserved_bytes + left_over, is_first);
}

bool ReadStage::ClaimSlot(Slot::State wanted, const Memory& memory, bool first,
                          Task& task) {
  for (Slot& slot : slots_) {
    if (slot.state != wanted || !HasRoomFor(slot)) continue;
    if (!HasMemory(memory, first, slot, task)) continue;
    slot.state = Slot::State::kBusy;
    task.ticket = slot.ticket;
    task.reading = {.reader = std::move(slot.reader),
                    .fetches = wanted == Slot::State::kWantsFetch,
                    .fetched = slot.fetched,
                    .at_hand = slot.at_hand};
    return true;
  }
  return false;
}

bool ReadStage::ClaimPiece(const Memory& memory, bool first, Task& task) {
  for (Slot& slot : slots_) {
    const auto unmade =
        std::ranges::find(slot.pieces, Piece::State::kUnmade, &Piece::state);
    if (unmade == slot.pieces.end() || !HasMemory(memory, first, slot, task)) continue;
    unmade->state = Piece::State::kBusy;
    task.ticket = slot.ticket;
    task.reading.work = std::move(unmade->work);
    task.reading.piece = slot.first_piece + (unmade - slot.pieces.begin());
    return true;
  }
  return false;
}

bool ReadStage::HasWork() const {
  const auto has_unmade = [](const Slot& slot) {
    return std::ranges::count(slot.pieces, Piece::State::kUnmade, &Piece::state) > 0;
  };
  return HasSlot(Slot::State::kWantsFind) || std::ranges::any_of(slots_, has_unmade);
}

bool ReadStage::HasFetch() const { return HasSlot(Slot::State::kWantsFetch); }

bool ReadStage::HasSlot(Slot::State wanted) const {
  return std::ranges::any_of(slots_, [&](const Slot& slot) {
    return slot.state == wanted && HasRoomFor(slot);
  });
}

// What the first part gives goes on at once; what others give waits for it.
bool ReadStage::HasRoomFor(const Slot& slot) const {
  if (&slot != &slots_.front()) return slot.pieces.size() < kWaitingMax;
  return std::ssize(slot.pieces) < work_.readers && next_.HasRoom();
}

void ReadStage::Run(Task& task, int /*thread*/) {
  const int64_t start = meters_.Now();
  absl::Status status = Work(task);
  const int64_t taken = meters_.Now() - start;
  if (task.reading.fetches) {
    meters_.AddFetching(taken);
  } else {
    meters_.AddTime(0, taken);
  }
  if (status.ok()) return;
  task.out.push_back(Item::Error(Named(status)));
  task.done = true;
}

absl::Status ReadStage::Work(Task& task) {
  ReadTask& reading = task.reading;
  if (reading.piece >= 0) {
    Notes notes(*this, task);
    return std::exchange(reading.work, nullptr)(notes);
  }
  if (reading.reader == nullptr) {
    reading.reader = TRY(ops::OpenAll(work_.source, parts_[task.ticket], work_.pool));
  }
  if (!work_.source.waits()) return Compute(task);
  if (!reading.fetched) {
    reading.at_hand = TRY(reading.reader->FetchNow());
    if (reading.fetches && !reading.at_hand) TRY(reading.reader->Fetch());
    reading.fetched = reading.fetches || reading.at_hand;
  }
  return reading.fetches || !reading.fetched ? absl::OkStatus() : Find(task);
}

absl::Status ReadStage::Find(Task& task) {
  std::optional<ops::RowsWork> work = TRY(task.reading.reader->Find());
  task.reading.fetched = false;
  task.done = !work.has_value();
  if (work) task.reading.work = *std::move(work);
  return absl::OkStatus();
}

// Rows that take no reading are made at once, about so many bytes of them.
absl::Status ReadStage::Compute(Task& task) {
  Notes notes(*this, task);
  int64_t bytes = 0;
  while (!task.done && bytes < kTaskBytes) {
    std::optional<core::Block> block = TRY(task.reading.reader->Next(notes));
    task.done = !block.has_value();
    if (task.done) break;
    bytes += std::max<int64_t>(block->content_bytes(), 1);
    TRY(notes.Give(*std::move(block)));
  }
  return absl::OkStatus();
}

absl::Status ReadStage::Named(const absl::Status& status) const {
  return base::Annotate(status, base::StrCat(work_.name, ", lane ", lane_));
}

void ReadStage::Complete(Task task) {
  int64_t bytes = 0;
  for (const Item& item : task.out) bytes += item.bytes;
  if (bytes > 0) work_.bytes_per_task.Add(static_cast<double>(bytes));
  Slot& slot = slots_[task.ticket - slots_.front().ticket];
  if (task.reading.piece >= 0) {
    CompletePiece(std::move(task), slot);
  } else {
    CompleteSlot(std::move(task), slot);
  }
  Flush();
}

void ReadStage::CompletePiece(Task task, Slot& slot) {
  Piece& piece = slot.pieces[task.reading.piece - slot.first_piece];
  piece.state = Piece::State::kMade;
  piece.items = std::move(task.out);
}

// A reader whose last fetch took no waiting fetches by itself the next time too.
void ReadStage::CompleteSlot(Task task, Slot& slot) {
  ReadTask& reading = task.reading;
  slot.fetched = reading.fetched;
  slot.at_hand = reading.at_hand;
  slot.state =
      slot.fetched || slot.at_hand ? Slot::State::kWantsFind : Slot::State::kWantsFetch;
  if (task.done) slot.state = Slot::State::kEnded;
  if (!task.done) slot.reader = std::move(reading.reader);
  if (reading.work != nullptr) {
    slot.pieces.push_back(
        {.state = Piece::State::kUnmade, .work = std::move(reading.work)});
  }
  if (!task.out.empty()) slot.pieces.push_back({.items = std::move(task.out)});
}

void ReadStage::Flush() {
  while (!slots_.empty()) {
    FlushPieces(slots_.front());
    const Slot& front = slots_.front();
    if (front.state != Slot::State::kEnded || !front.pieces.empty()) break;
    slots_.pop_front();
  }
  OpenSlots();
  if (!slots_.empty() || ended_) return;
  ended_ = true;
  next_.EndInput();
}

void ReadStage::FlushPieces(Slot& slot) {
  while (!slot.pieces.empty() && slot.pieces.front().state == Piece::State::kMade) {
    std::vector<Item> items = std::move(slot.pieces.front().items);
    slot.pieces.pop_front();
    ++slot.first_piece;
    for (Item& item : items) next_.Accept(std::move(item));
  }
}

}  // namespace millrace::exec
