// The source that repeat and concat are: plans one after another (turns), whose lanes
// are its splits. Turns of a repeat differ in their epoch alone; there may be no end of
// them, so they are planned as they are needed. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/mutex.h"
#include "millrace/exec/first_turn.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"

namespace millrace::exec {

struct BranchOptions {
  std::string name;                   // Of the operator.
  std::optional<int64_t> turns = {};  // None: without end.
  bool repeats = false;               // Rows of later turns are other rows.
  int64_t repeats_before = 0;         // Of its rows: those turns are others again.
};

class BranchSource final : public NestedSource {
 public:
  using PlanTurn = std::function<absl::StatusOr<PassPlan>(int64_t turn)>;

  BranchSource(BranchOptions options, PlanTurn plan_turn);

  // Plans the first turns.
  absl::StatusOr<lanes::Manifest> List() override;

  bool waits() const override;
  absl::StatusOr<Inputs> InputsOf(const lanes::RowRange& rows) const override;
  std::vector<std::shared_ptr<const PassPlan>> inputs() const override;

  // Plans more turns, about as many as there are, where there are more.
  absl::Status Grow();

  // Plans all turns. An error when there is no end of them.
  absl::Status GrowToEnd();

  // Whether there is an end of its turns.
  bool ends() const { return options_.turns.has_value(); }

  // The splits of the turns planned so far.
  lanes::Manifest manifest() const;

 private:
  struct Turn {
    std::shared_ptr<PassPlan> plan;
    int64_t first_split = 0;
    int64_t splits = 0;
  };

  bool AllPlanned() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PlanNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const BranchOptions options_;
  const PlanTurn plan_turn_;
  mutable base::Mutex mutex_;
  std::vector<Turn> turns_ ABSL_GUARDED_BY(mutex_);
  lanes::Manifest manifest_ ABSL_GUARDED_BY(mutex_);
  bool nothing_ ABSL_GUARDED_BY(mutex_) = false;  // The first turn has no rows.
  const std::shared_ptr<FirstTurn> first_turn_ = std::make_shared<FirstTurn>();
};

// What a turn of a repeat is told from all others by, also from those of the repeats
// before it; 0 for the first, whose rows and draws are those of the pass.
uint64_t KeyOfTurn(int64_t turn, int64_t repeats_before);

// The epoch that the turn of this key is seeded with.
uint64_t EpochOfTurn(uint64_t epoch, uint64_t key);

}  // namespace millrace::exec
