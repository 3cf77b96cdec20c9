// Reads the rows of a lane: a reader for each of its ranges, several at once, whose
// blocks go on in the lane's order. Fetching (waiting for disks) is work for the I/O
// threads, parsing for the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

// What all reading of a pass has in common.
struct ReadWork {
  const ops::Source& source;
  std::string name;      // Of the source operator, for errors.
  bool ignored = false;  // Rows that are wrong are left out.
  int64_t readers = 2;   // Open at once in a lane, at most.
  RunningMean bytes_per_block = {};
};

class ReadStage final : public StageRun {
 public:
  // Requires: all outlive it.
  ReadStage(ReadWork& work, int64_t lane, std::vector<lanes::RowRange> ranges,
            Sink& next, Meters& meters);

  // A source takes nothing.
  void Accept(Item item) override;
  void EndInput() override;

  bool HasRoom() const override { return false; }

  bool HasWork() const override { return HasSlot(Slot::State::kWantsNext); }

  bool HasFetch() const override { return HasSlot(Slot::State::kWantsFetch); }

  bool Claim(const Memory& memory, bool first, Task& task) override;
  bool ClaimFetch(const Memory& memory, bool first, Task& task) override;
  void Run(Task& task, int thread) override;
  void Complete(Task task) override;

  // Every range has a reader: the next lane may begin to read.
  bool all_opened() const { return next_range_ == ranges_.size(); }

 private:
  class Notes;

  // A range being read.
  struct Slot {
    enum class State : uint8_t { kWantsFetch, kWantsNext, kBusy, kEnded };

    int64_t ticket = 0;  // The range's place in the lane.
    State state = State::kWantsFetch;
    std::unique_ptr<ops::Reader> reader;  // Once opened; with its task while busy.
    std::deque<Item> given;               // Waiting for earlier ranges.
  };

  bool HasSlot(Slot::State wanted) const;
  bool HasRoomFor(const Slot& slot) const;
  bool ClaimSlot(Slot::State wanted, const Memory& memory, bool first, Task& task);
  void OpenSlots();
  absl::Status Work(Task& task);
  absl::Status ReadBlock(Task& task);
  absl::Status Named(const absl::Status& status) const;
  Slot::State StateAfter(const Task& task) const;
  void Flush();

  ReadWork& work_;
  const int64_t lane_;
  const std::vector<lanes::RowRange> ranges_;
  Sink& next_;
  Meters& meters_;
  size_t next_range_ = 0;
  std::deque<Slot> slots_;  // Of ranges next_range_ - size, ..., next_range_ - 1.
  bool ended_ = false;
};

}  // namespace millrace::exec
