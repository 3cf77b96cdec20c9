// Takes a lane's rows from other passes, where one operator makes one stream of several
// (nested_source.h). Those passes are run here like the outer one is: their lanes are
// opened ahead, and their stages' tasks are claimed and completed through this stage.
// What they have ready is merged, or passed on as rows of their turn, by one thread at
// a time.
//
//   pass ──► [ ready ] ─┐
//                       ├─► merge ──► next stage
//   pass ──► [ ready ] ─┘
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"

#include "millrace/exec/memory.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_place.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/chunks.h"

namespace millrace::exec {

class NestedStage final : public SourceStage {
 public:
  // Gives what these ranges of the plan's source stand for, in order.
  // Requires: all outlive it.
  NestedStage(const PassPlan& plan, const PassPlace& place, int64_t lane,
              std::vector<lanes::RowRange> parts, Sink& next);
  ~NestedStage() override;
  NestedStage(const NestedStage&) = delete;
  NestedStage& operator=(const NestedStage&) = delete;

  bool HasWork() const override;
  bool HasFetch() const override;
  bool Claim(const Memory& memory, bool first, Task& task) override;
  bool ClaimFetch(const Memory& memory, bool first, Task& task) override;
  bool Owns(const StageRun* stage) const override;
  void Run(Task& task, int thread) override;
  void Complete(Task task) override;

 private:
  class Part;

  bool MayOpenPart() const;
  bool OpenPart();
  bool CanMerge() const;
  bool ClaimMerging();
  void CompleteMerging(Task task);
  void Close();
  void DropClosed();
  void End();
  absl::Status Named(const absl::Status& status) const;

  const PassPlan& plan_;
  const PassPlace& place_;
  const int64_t lane_;
  const std::vector<lanes::RowRange> parts_;
  Sink& next_;
  size_t next_part_ = 0;
  std::deque<std::unique_ptr<Part>> open_;     // The first is being given.
  std::vector<std::unique_ptr<Part>> closed_;  // Given, with tasks that still run.
  absl::Status opening_;                       // Why a part could not be opened.
  bool merging_ = false;
  Part* merged_ = nullptr;  // By who merges; null: no part could be opened.
  bool ended_ = false;
};

}  // namespace millrace::exec
