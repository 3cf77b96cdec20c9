// A run of row-wise operators: any number of threads work on it at once, and blocks
// leave in the order in which they came. A task takes as many rows as make about a
// millisecond of work, by what rows took so far: small ones are worked on many at a
// time, images one by one. Where an operator waits for another process it takes more of
// them, since that process idles from each task to the next.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "millrace/exec/chain.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/slots.h"
#include "millrace/exec/stage_run.h"

namespace millrace::exec {

// What the tasks of a row-wise stage share over all lanes of a pass: a chain of
// operators for every thread, and what rows cost so far.
struct RowWiseWork {
  static constexpr double kTaskNanoseconds = 1e6;
  static constexpr double kWaitingTaskNanoseconds = 16e6;

  double task_nanoseconds = kTaskNanoseconds;  // About what a task should take.
  std::vector<std::unique_ptr<Chain>> chains;  // By thread.
  RunningMean nanoseconds_per_row;
  RunningMean bytes_per_row;       // Of what comes out of a row that goes in.
  std::optional<SlotTable> slots;  // Where results can be written to their batch.
  // Where slots are: the position in the pass of the lane after those whose rows have
  // all come in, and which lane of the run that is.
  int64_t counted_lanes = 0;
  int64_t counted_rows = 0;
};

class RowWiseStage final : public StageRun {
 public:
  // Which lane it is: its number, which of the lanes of the run, and its position in
  // the pass: where that does not depend on the lanes before, or is known of them.
  struct Place {
    int64_t lane = 0;
    int64_t turn = 0;
    std::optional<int64_t> position = {};
    bool follows = true;  // On the lanes before.
  };

  // Requires: all outlive it.
  RowWiseStage(RowWiseWork& work, const Place& place, Sink& next,
               const QueueLimits& limits, const Meters& meters)
      : work_(work),
        lane_(place.lane),
        turn_(place.turn),
        counts_(place.follows),
        position_(place.position),
        next_(next),
        queue_(limits),
        meters_(meters) {}

  void Accept(Item item) override {
    rows_accepted_ += item.block.rows();
    queue_.Push(std::move(item));
  }

  void EndInput() override;

  bool HasRoom() const override { return queue_.HasRoom(); }

  bool HasWork() const override;
  bool Claim(const Memory& memory, bool first, Task& task) override;
  void Run(Task& task, int thread) override;
  void Complete(Task task) override;

 private:
  int64_t RowsPerTask() const;
  void TakeRows(int64_t rows, Task& task);
  bool TakeRowsToSlots(int64_t rows, Task& task);
  void FindPosition();
  void Flush();
  void EndIfDone();

  RowWiseWork& work_;
  const int64_t lane_;
  const int64_t turn_;
  const bool counts_;                // The lanes behind follow on it.
  std::optional<int64_t> position_;  // In the pass, of the lane's first row.
  int64_t rows_accepted_ = 0;
  int64_t rows_claimed_ = 0;
  Sink& next_;
  ItemQueue queue_;
  const Meters& meters_;
  bool input_ended_ = false;
  int64_t tickets_ = 0;                            // Given out.
  int64_t flushed_ = 0;                            // Tasks whose results have gone on.
  std::map<int64_t, std::vector<Item>> finished_;  // By ticket; not yet gone on.
};

}  // namespace millrace::exec
