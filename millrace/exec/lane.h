// An open lane: its stages, and behind them what it has ready. Whoever runs it, a pass
// or somebody who wants this lane alone, joins it with others, or keeps what it leaves
// over. The engine's lock guards all of it, but for the running of tasks.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/exec/in_order_stage.h"
#include "millrace/exec/pass_place.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/pass_work.h"
#include "millrace/exec/row_wise_stage.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/stages.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/rest.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {

// What a lane is opened with.
struct LaneStart {
  lanes::LaneRange range = {};  // Rows before it begins are skipped.
  int64_t turn = 0;             // Which of the lanes of the run it is.
  // Of its first row among those of the pass, where it shares no batch with others.
  std::optional<int64_t> position = {};
  // The same where it may, if that is known beforehand.
  std::optional<int64_t> known_position = {};
  QueueLimits ready = {};  // What may wait for the consumer.
  bool digests = false;    // Rows are digested: items say up to where.
};

class Lane final : public Sink {
 public:
  // What it runs with. Requires: all outlive it.
  struct With {
    const PassPlan& plan;
    const PassPlace& place;
    PassWork& work;
    Joiner& joiner;
  };

  Lane(const With& with, const LaneStart& start);
  ~Lane() override;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void Accept(Item item) override;

  void EndInput() override { ended_ = true; }

  bool HasRoom() const override { return ready_.HasRoom(); }

  bool Claim(bool first, Task& task);
  bool ClaimFetch(bool first, Task& task);
  bool Owns(const StageRun* stage) const;
  void Complete(Task task);
  bool HasWork() const;
  bool HasFetch() const;

  int64_t turn() const { return turn_; }

  bool has_ready() const { return !ready_.empty(); }

  const ItemQueue& ready() const { return ready_; }

  // The next of what is ready; null where nothing is.
  const Item* front() const { return ready_.front(); }

  // Takes the next of what is ready. Requires: has_ready().
  Item Take();

  // Takes all that is ready.
  std::deque<Item> TakeReady();

  // Blocks that came to be ready, ever.
  int64_t accepted() const { return accepted_; }

  // Where nothing joins lanes: rows taken.
  int64_t given() const { return given_; }

  // Rows that were to be skipped and did not come: at the end, those that are missing.
  int64_t to_skip() const;

  // Of the rows that were skipped, and of those that have left the joining operator in
  // batches. Requires: no task of the lane runs, or nothing was joined yet.
  const lanes::Digest& digest() const { return digest_; }

  // After an error the lane has ended, but tasks of it may still run.
  bool ended() const { return ended_ && running_ == 0; }

  bool failed() const { return failed_; }

  InOrderStage* joining() { return joining_; }

 private:
  class Skip;
  using ClaimOf = bool (StageRun::*)(const Memory& memory, bool first, Task& task);

  // Has one stage after the other asked, the last first.
  bool ClaimBy(ClaimOf claim, bool first, Task& task);

  // Makes the stages, the last one first: each needs to know where its results go.
  void Build();
  int DecideSkipPlace();
  Sink* MakeSkip(Sink& next);
  std::unique_ptr<StageRun> MakeStage(const Stage& stage, Sink& next);
  std::unique_ptr<StageRun> MakeReading(Sink& next);
  std::vector<lanes::RowRange> ToRead() const;
  ops::LaneContext Context() const;

  const With with_;
  const lanes::LaneRange range_;
  const int64_t turn_;
  const std::optional<int64_t> position_;
  const std::optional<int64_t> known_position_;
  const bool digests_;
  int skip_place_ = -1;
  int64_t accepted_ = 0;
  int64_t given_ = 0;
  lanes::Digest digest_;
  std::unique_ptr<Skip> skip_;
  std::vector<RowWiseWork*> row_wise_;
  std::vector<std::unique_ptr<StageRun>> stages_;
  InOrderStage* joining_ = nullptr;
  ItemQueue ready_;
  int running_ = 0;  // Tasks.
  bool ended_ = false;
  bool failed_ = false;
};

}  // namespace millrace::exec
