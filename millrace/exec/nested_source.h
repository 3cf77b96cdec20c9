// Sources whose rows come out of other passes: those that repeat and concat are
// (branch_source.h), zip and mix (merge_source.h), and cache (cache_source.h). The
// engine runs those passes within its own (nested_stage.h), the sequential runner one
// after another (nested_reader.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/hash.h"
#include "millrace/exec/kept_rows.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

// Lanes of a plan, one after the other.
struct LaneSeries {
  std::shared_ptr<PassPlan> plan;  // Grows where the run goes on to its end.
  int64_t begin = 0;               // The first lane, ...
  std::optional<int64_t> end =
      {};             // ... and the one behind the last; none: to the end.
  int64_t skip = 0;   // Rows to leave out.
  uint64_t turn = 0;  // The key of a repeat's turn; rows of later ones are other rows.
};

// What gives the rows of a split.
struct Inputs {
  std::vector<LaneSeries> runs;
  std::unique_ptr<ops::Merger> merger = nullptr;  // Null: the one run is all.
  int64_t skip = 0;  // Rows to leave out of what is merged.

  // Sees the rows of the one run as they come by, where they are to be kept.
  std::unique_ptr<Recorder> recorder = nullptr;

  // Wants to be told, once it has all been given, whether there were any rows.
  std::function<void(bool any)> ended = nullptr;
};

// Lanes of a plan that are one split of such a source.
struct SplitLanes {
  int64_t begin = 0;
  int64_t end = 0;
  bool whole = false;  // All lanes are: batches go on from lane to lane.
};

// The split of this number: all lanes of a plan that batches, else a lane each.
SplitLanes LanesOfSplit(const PassPlan& plan, int64_t split);

// How many such splits there are.
int64_t SplitsOf(const PassPlan& plan);

// Names all that the rows of a lane depend on, besides the pipeline: what it reads,
// with the versions, and where it stands in the pass for operators that go by that.
base::Hash128 VersionedHash(const PassPlan& plan, int64_t lane);

// Describes one. What it holds is part of its name, and tells it from all others.
lanes::Split SplitOf(const PassPlan& plan, const SplitLanes& lanes,
                     const std::string& name);

class NestedSource : public ops::Source {
 public:
  virtual absl::StatusOr<Inputs> InputsOf(const lanes::RowRange& rows) const = 0;

  // Its rows are not read, but run.
  absl::StatusOr<std::unique_ptr<ops::Reader>> Open(
      const lanes::RowRange& /*rows*/) const final {
    return absl::InternalError("the rows of a nested source come out of passes");
  }

  // Plans of what it is made of, as far as that is planned: those that run at once.
  virtual std::vector<std::shared_ptr<const PassPlan>> inputs() const = 0;
};

}  // namespace millrace::exec
