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
    stage_.meters_.AddInput(stage_.work_.number, 0);
    stage_.meters_.AddOutput(stage_.work_.number, item.block.rows(), item.bytes);
    return absl::OkStatus();
  }

  absl::Status LeaveOut(const ops::BadRow& row) override {
    if (!stage_.work_.ignored) return row.why;
    task_.out.push_back(Item::LeftOut({.number = stage_.work_.number,
                                       .by = stage_.work_.ignored_by,
                                       .why = stage_.Named(row.why)}));
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

// What was found is still warm, and then what was fetched: they go first.
bool ReadStage::Claim(const Memory& memory, bool first, Task& task) {
  return ClaimPiece(Piece::State::kUnmade, memory, first, task) ||
         ClaimSlot(Slot::State::kWantsFind, memory, first, task) ||
         ClaimAhead(true, memory, first, task);
}

bool ReadStage::ClaimFetch(const Memory& memory, bool first, Task& task) {
  task.reading.waits = ClaimPiece(Piece::State::kUnfetched, memory, first, task) ||
                       ClaimSlot(Slot::State::kWantsFetch, memory, first, task) ||
                       ClaimAhead(false, memory, first, task);
  return task.reading.waits;
}

bool ReadStage::HasMemory(const Memory& memory, bool is_first, Task& task) const {
  task.reserved_bytes = static_cast<int64_t>(work_.bytes_per_task.value());
  // Reading ahead leaves memory for what is done with the rows.
  const int64_t left_over = memory.budget_bytes() / (is_first ? 4 : 8);
  return memory.HasRoom(task.reserved_bytes + left_over, is_first);
}

bool ReadStage::ClaimSlot(Slot::State wanted, const Memory& memory, bool first,
                          Task& task) {
  for (Slot& slot : slots_) {
    if (slot.state != wanted || !slot.has_next() || !HasRoomFor(slot)) continue;
    const bool is_first = first && &slot == &slots_.front();
    if (!HasMemory(memory, is_first, task)) continue;
    slot.state = Slot::State::kBusy;
    task.ticket = slot.ticket;
    task.reading.reader = std::move(slot.reader);
    task.reading.fetched = slot.fetched;
    task.reading.at_hand = slot.at_hand;
    task.reading.aheads_wanted = is_first ? work_.readers : 0;
    return true;
  }
  return false;
}

bool ReadStage::ClaimPiece(Piece::State wanted, const Memory& memory, bool first,
                           Task& task) {
  for (Slot& slot : slots_) {
    const auto found = std::ranges::find(slot.pieces, wanted, &Piece::state);
    if (found == slot.pieces.end()) continue;
    if (!HasMemory(memory, first && &slot == &slots_.front(), task)) continue;
    found->state = Piece::State::kBusy;
    task.ticket = slot.ticket;
    task.reading.work = std::move(found->work);
    task.reading.number = slot.first_piece + (found - slot.pieces.begin());
    return true;
  }
  return false;
}

bool ReadStage::ClaimAhead(bool at_hand, const Memory& memory, bool first, Task& task) {
  for (Slot& slot : slots_) {
    if (slot.at_hand != at_hand) continue;
    const auto wanted =
        std::ranges::find(slot.aheads, Ahead::State::kWanted, &Ahead::state);
    if (wanted == slot.aheads.end()) continue;
    // What the delivered lane waits for, or what may be of use later.
    const bool is_next = &slot == &slots_.front() && wanted == slot.aheads.begin();
    if (!HasMemory(memory, first && is_next, task)) continue;
    wanted->state = Ahead::State::kBusy;
    task.ticket = slot.ticket;
    task.reading.ahead = wanted->fetch;
    task.reading.number = slot.first_ahead + (wanted - slot.aheads.begin());
    return true;
  }
  return false;
}

bool ReadStage::HasWork() const {
  return HasSlot(Slot::State::kWantsFind) || HasAhead(true) ||
         HasPiece(Piece::State::kUnmade);
}

bool ReadStage::HasFetch() const {
  return HasSlot(Slot::State::kWantsFetch) || HasAhead(false) ||
         HasPiece(Piece::State::kUnfetched);
}

bool ReadStage::HasPiece(Piece::State wanted) const {
  return std::ranges::any_of(slots_, [&](const Slot& slot) {
    return std::ranges::count(slot.pieces, wanted, &Piece::state) > 0;
  });
}

bool ReadStage::HasSlot(Slot::State wanted) const {
  return std::ranges::any_of(slots_, [&](const Slot& slot) {
    return slot.state == wanted && slot.has_next() && HasRoomFor(slot);
  });
}

bool ReadStage::HasAhead(bool at_hand) const {
  return std::ranges::any_of(slots_, [&](const Slot& slot) {
    return slot.at_hand == at_hand &&
           std::ranges::count(slot.aheads, Ahead::State::kWanted, &Ahead::state) > 0;
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
  if (task.reading.waits) {
    meters_.AddFetching(taken);
  } else {
    meters_.AddTime(work_.number, taken);
  }
  if (status.ok()) return;
  task.out.push_back(Item::Error(Named(status)));
  task.done = true;
}

absl::Status ReadStage::Work(Task& task) {
  ReadTask& reading = task.reading;
  if (reading.ahead != nullptr) {
    reading.at_hand = reading.ahead->FetchNow();
    if (reading.waits && !reading.at_hand) reading.ahead->Fetch();
    return absl::OkStatus();
  }
  if (reading.number >= 0) return Make(task);
  if (reading.reader == nullptr) {
    reading.reader = TRY(ops::OpenAll(work_.source, parts_[task.ticket], work_.pool));
  }
  return work_.source.waits() ? Read(reading, task) : Compute(task);
}

// Makes blocks of what was found, unless it must be waited for; who waited leaves the
// rest to others.
absl::Status ReadStage::Make(Task& task) {
  ReadTask& reading = task.reading;
  reading.fetched = reading.work.FetchNow();
  if (reading.waits) reading.work.Fetch();
  if (reading.waits || !reading.fetched) return absl::OkStatus();
  Notes notes(*this, task);
  return std::exchange(reading.work, {})(notes);
}

absl::Status ReadStage::Read(ReadTask& reading, Task& task) {
  if (!reading.fetched) {
    const bool was_ahead = reading.reader->ahead() > 0;
    const bool at_hand = TRY(reading.reader->FetchNow());
    if (!was_ahead) reading.at_hand = at_hand;
    if (reading.waits && !at_hand) TRY(reading.reader->Fetch());
    reading.fetched = reading.waits || at_hand;
  }
  if (!reading.waits && reading.fetched) TRY(Find(task));
  while (!task.done && reading.reader->ahead() < reading.aheads_wanted) {
    std::shared_ptr<ops::FetchAhead> ahead = reading.reader->Ahead();
    if (ahead == nullptr) break;
    reading.aheads.push_back(std::move(ahead));
  }
  return absl::OkStatus();
}

absl::Status ReadStage::Find(Task& task) {
  std::optional<ops::FoundWork> work = TRY(task.reading.reader->Find());
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
  if (task.reading.ahead != nullptr) {
    CompleteAhead(task);
    return;
  }
  Slot& slot = slots_[task.ticket - slots_.front().ticket];
  if (task.reading.number >= 0) {
    CompletePiece(std::move(task), slot);
  } else {
    CompleteSlot(std::move(task), slot);
  }
  Flush();
}

// The part, or what it is made of, may have come to its end without it.
void ReadStage::CompleteAhead(const Task& task) {
  if (slots_.empty() || task.ticket < slots_.front().ticket) return;
  Slot& slot = slots_[task.ticket - slots_.front().ticket];
  const int64_t place = task.reading.number - slot.first_ahead;
  if (place < 0 || place >= std::ssize(slot.aheads)) return;
  const bool there = task.reading.waits || task.reading.at_hand;
  slot.aheads[place].state = there ? Ahead::State::kThere : Ahead::State::kWanted;
  slot.at_hand = task.reading.at_hand;
}

void ReadStage::CompletePiece(Task task, Slot& slot) {
  ReadTask& reading = task.reading;
  Piece& piece = slot.pieces[reading.number - slot.first_piece];
  const bool made = reading.work.make == nullptr;
  piece.state = made            ? Piece::State::kMade
                : reading.waits ? Piece::State::kUnmade
                                : Piece::State::kUnfetched;
  piece.work = std::move(reading.work);
  piece.items = std::move(task.out);
}

// A reader whose last fetch took no waiting fetches by itself the next time too.
void ReadStage::CompleteSlot(Task task, Slot& slot) {
  ReadTask& reading = task.reading;
  slot.fetched = reading.fetched;
  slot.at_hand = reading.at_hand;
  for (std::shared_ptr<ops::FetchAhead>& ahead : reading.aheads) {
    slot.aheads.push_back({.fetch = std::move(ahead)});
  }
  const int64_t left = task.done ? 0 : reading.reader->ahead();
  for (; std::ssize(slot.aheads) > left; ++slot.first_ahead) slot.aheads.pop_front();
  const bool waits = !slot.fetched && !slot.at_hand && slot.aheads.empty();
  slot.state = waits ? Slot::State::kWantsFetch : Slot::State::kWantsFind;
  if (task.done) slot.state = Slot::State::kEnded;
  if (!task.done) slot.reader = std::move(reading.reader);
  if (reading.work.make != nullptr) {
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
