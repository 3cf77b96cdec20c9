// Reads the rows of a lane: a reader for each of its parts, several at once, whose
// blocks go on in the lane's order. A reader goes through its part on one thread at a
// time, which finds the next rows; making blocks of them is left to all threads, so
// that one long file keeps them all busy. What the system has at hand is fetched by the
// thread that needs it; to wait for disks is work for the I/O threads.
//
//   fetch ──► find ──► [ unmade | made | unmade ] ──► next stage, in order
//     └─ I/O, or at hand   └─ make: any thread, any of them
//   fetch ahead: any thread, any of the stretches behind; of the part that is delivered
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/pool.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

// What all reading of a pass has in common.
struct ReadWork {
  const ops::Source& source;
  std::string name;      // Of the source operator, for errors, ...
  int number = 0;        // ... and its number in the pipeline.
  bool ignored = false;  // Rows that are wrong are left out, ...
  int ignored_by = -1;   // ... by the operator of this number, if that is known.
  core::Pool& pool;
  int64_t readers = 2;  // Open at once in a lane, at most.
  RunningMean bytes_per_task = {};
};

class ReadStage final : public SourceStage {
 public:
  // Requires: all outlive it.
  ReadStage(ReadWork& work, int64_t lane, std::vector<ops::RowRanges> parts, Sink& next,
            Meters& meters);

  bool HasWork() const override;
  bool HasFetch() const override;
  bool Claim(const Memory& memory, bool first, Task& task) override;
  bool ClaimFetch(const Memory& memory, bool first, Task& task) override;
  void Run(Task& task, int thread) override;
  void Complete(Task task) override;

  // Every part has a reader: the next lane may begin to read.
  bool all_opened() const { return next_part_ == parts_.size(); }

 private:
  class Notes;

  // A block that waits for earlier ones, or to be made.
  struct Piece {
    // To wait for, to be made, ...
    enum class State : uint8_t { kUnfetched, kUnmade, kBusy, kMade };

    State state = State::kMade;
    std::vector<Item> items = {};  // Once made, if it has any rows.
    ops::FoundWork work = {};      // While unmade.
  };

  // What is on its way in before it is asked for.
  struct Ahead {
    enum class State : uint8_t { kWanted, kBusy, kThere };

    std::shared_ptr<ops::FetchAhead> fetch;
    State state = State::kWanted;
  };

  // A part being read.
  struct Slot {
    enum class State : uint8_t { kWantsFetch, kWantsFind, kBusy, kEnded };

    int64_t ticket = 0;  // The part's place in the lane.
    State state = State::kWantsFetch;
    bool fetched = false;                 // Finding has what it needs.
    bool at_hand = false;                 // The last fetch took no waiting.
    std::unique_ptr<ops::Reader> reader;  // Once opened; with its task while busy.
    std::deque<Piece> pieces = {};
    int64_t first_piece = 0;  // How many have gone on.
    std::deque<Ahead> aheads = {};
    int64_t first_ahead = 0;  // How many were used.

    // Whether the reader can go on.
    bool has_next() const {
      return aheads.empty() || aheads.front().state == Ahead::State::kThere;
    }
  };

  bool HasSlot(Slot::State wanted) const;
  bool HasPiece(Piece::State wanted) const;
  bool HasRoomFor(const Slot& slot) const;
  bool ClaimSlot(Slot::State wanted, const Memory& memory, bool first, Task& task);
  bool ClaimPiece(Piece::State wanted, const Memory& memory, bool first, Task& task);
  bool ClaimAhead(bool at_hand, const Memory& memory, bool first, Task& task);
  bool HasAhead(bool at_hand) const;
  bool HasMemory(const Memory& memory, bool is_first, Task& task) const;
  void OpenSlots();
  absl::Status Work(Task& task);
  absl::Status Read(ReadTask& reading, Task& task);
  absl::Status Find(Task& task);
  absl::Status Make(Task& task);
  absl::Status Compute(Task& task);
  absl::Status Named(const absl::Status& status) const;
  void CompletePiece(Task task, Slot& slot);
  void CompleteSlot(Task task, Slot& slot);
  void CompleteAhead(const Task& task);
  void Flush();
  void FlushPieces(Slot& slot);

  ReadWork& work_;
  const int64_t lane_;
  const std::vector<ops::RowRanges> parts_;
  Sink& next_;
  Meters& meters_;
  size_t next_part_ = 0;
  std::deque<Slot> slots_;  // Of parts next_part_ - size, ..., next_part_ - 1.
  bool ended_ = false;
};

}  // namespace millrace::exec
