// A stage of one lane at work: what waits to be done, what is being done, and where
// the results go. The engine claims a task under its lock, runs it without, and
// completes it under the lock again; so everything here but Run is guarded by that
// lock, and two tasks of one stage run at once only where the stage says so.
//
//   Accept, EndInput ──► [ queue ] ──► Claim ──► Run ──► Complete ──► next: Accept, …
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/exec/left_out.h"
#include "millrace/exec/memory.h"
#include "millrace/lanes/cursor.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

// What moves from stage to stage: rows, or the error that came instead of them, or that
// a row was left out here.
struct Item {
  core::Block block;
  absl::Status status;
  std::optional<LeftOutRow> left_out = {};
  int64_t bytes = 0;  // Of content.
  // Up to where this batch takes its lane's stream (progress.h); meaningless before the
  // joining operator.
  int64_t position = 0;
  lanes::Digest digest = {};  // Of the rows up to there, where somebody wants it.
  int64_t key = -1;           // Of a batch, where lanes give runs.

  static Item Of(core::Block block, int64_t position = 0) {
    Item item = {.block = std::move(block), .status = {}, .position = position};
    item.bytes = item.block.content_bytes();
    return item;
  }

  static Item Error(absl::Status status) {
    return {.block = {}, .status = std::move(status)};
  }

  static Item LeftOut(LeftOutRow row) {
    return {.block = {}, .status = {}, .left_out = std::move(row)};
  }
};

// The rows that batches hold together. Requires: every field has a leading axis, and
// there are fields or identities.
int64_t RowsInBatch(const core::Block& batches);

class StageRun;

// What there is to do about one range of a source: to fetch, also ahead, to find the
// next rows, or to make blocks of rows that were found.
struct ReadTask {
  std::unique_ptr<ops::Reader> reader;  // Of fetching and finding, while they run.
  bool waits = false;                   // For the disk, rather than computing.
  bool fetched = false;                 // Finding has what it needs.
  bool at_hand = false;                 // Nobody had to wait for that.
  int64_t aheads_wanted = 0;            // To be left ahead, at most, ...
  std::vector<std::shared_ptr<ops::FetchAhead>> aheads = {};  // ... these of them new.
  std::shared_ptr<ops::FetchAhead> ahead = nullptr;           // To be fetched ahead ...
  ops::FoundWork work = {};  // ... or what was found, or is to be made ...
  int64_t number = -1;       // ... as this of the range's pieces, or aheads.
};

// A piece of work for one thread.
struct Task {
  StageRun* stage = nullptr;
  std::vector<Item> in;  // Gone once it has run.
  std::vector<Item> out;
  int64_t rows_in = 0;
  int64_t ticket = 0;                // Which of the stage's tasks it is.
  int64_t reserved_bytes = 0;        // What it may take.
  int64_t nanoseconds = 0;           // What it took.
  bool done = false;                 // It was the last of its kind.
  ReadTask reading;                  // Of stages that read.
  std::vector<core::Buffer> places;  // Where the results are wanted, by field.
};

// Where a stage's results go.
class Sink {
 public:
  virtual ~Sink() = default;

  virtual void Accept(Item item) = 0;

  // There is no more to come.
  virtual void EndInput() = 0;

  // Tells whether it would rather have more than less.
  virtual bool HasRoom() const = 0;
};

// How much may wait before a stage, or behind the last one.
struct QueueLimits {
  int64_t items = 16;
  int64_t bytes = int64_t{64} << 20;
};

// Items that wait, with their bytes.
class ItemQueue {
 public:
  explicit ItemQueue(const QueueLimits& limits) : limits_(limits) {}

  void Push(Item item);
  Item Pop();

  bool empty() const { return items_.empty(); }

  // The first of them; null where there is none.
  const Item* front() const { return items_.empty() ? nullptr : &items_.front(); }

  int64_t blocks() const { return static_cast<int64_t>(items_.size()); }

  int64_t bytes() const { return bytes_; }

  bool HasRoom() const {
    return items_.empty() || (static_cast<int64_t>(items_.size()) < limits_.items &&
                              bytes_ < limits_.bytes);
  }

  // Takes at most so many rows off the front: a whole item, or a part of it.
  // Requires: not empty, rows >= 1.
  Item PopRows(int64_t rows);

  void Clear();

 private:
  QueueLimits limits_;
  std::deque<Item> items_;
  int64_t bytes_ = 0;
};

// Leaves out the first rows of what comes by, and what is noted between them.
class SkippedRows {
 public:
  explicit SkippedRows(int64_t rows) : left_(rows) {}

  // How many are still to be left out.
  int64_t left() const { return left_; }

  // What remains of an item, if anything.
  std::optional<Item> Pass(Item item);

 private:
  int64_t left_;
};

class StageRun : public Sink {
 public:
  // Takes up work that can be done now; false when there is none, or no memory or room
  // for its results. `first`: this is the lane being delivered. The task says whose it
  // is, if it is another stage's.
  virtual bool Claim(const Memory& memory, bool first, Task& task) = 0;

  // Takes up work that waits for disks.
  virtual bool ClaimFetch(const Memory& /*memory*/, bool /*first*/, Task& /*task*/) {
    return false;
  }

  // Tells whether there is such work, memory apart.
  virtual bool HasWork() const = 0;

  virtual bool HasFetch() const { return false; }

  // Tells whether tasks of a stage were claimed from this one.
  virtual bool Owns(const StageRun* stage) const { return stage == this; }

  // Does the work, without the lock, on the thread of this number.
  virtual void Run(Task& task, int thread) = 0;

  // Takes the results in, of a task of a stage it owns.
  virtual void Complete(Task task) = 0;
};

// The first stage of a lane: a source takes nothing.
class SourceStage : public StageRun {
 public:
  void Accept(Item item) final;
  void EndInput() final;

  bool HasRoom() const final { return false; }
};

// A running mean that follows changes: each new value counts an eighth.
class RunningMean {
 public:
  bool known() const { return known_; }

  double value() const { return value_; }

  void Add(double value);

 private:
  double value_ = 0;
  bool known_ = false;
};

}  // namespace millrace::exec
