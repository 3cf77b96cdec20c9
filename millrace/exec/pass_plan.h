// How a pass over a pipeline falls into lanes: lists the sources, decides the cut from
// what the operators say about themselves, and cuts. Pure but for the listing.
//
// Lanes are cut from the pipeline as written, whatever it was rewritten to, so that a
// rewrite never moves a row. What stands before an operator that makes one stream of
// several (repeat, concat, zip, mix) is planned for itself; that operator is then a
// source like any other (branch_source.h, merge_source.h), whose splits are their
// lanes.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/random.h"
#include "millrace/base/sha256.h"
#include "millrace/core/pool.h"
#include "millrace/exec/left_out.h"
#include "millrace/exec/row_origins.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/listing.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

class BranchSource;
class Caches;
class NestedSource;

// In which order lanes are delivered: one after the other, or each as it comes.
enum class Delivery : uint8_t { kLogical, kAny };

struct PassOptions {
  uint64_t seed = 0;   // Of the job, for operators without a seed of their own.
  uint64_t epoch = 0;  // Enters every draw.
  std::vector<lanes::CutRecord> cuts = {};  // Of the state to go on from.
  // Of the job that it is a pass of, made before: nothing is listed then. Empty: none.
  lanes::Listing listing = {};
  Delivery order = Delivery::kLogical;
  bool build_indexes = false;  // Beside files without, as they are read.
  int64_t row_bytes_max = std::numeric_limits<int64_t>::max();  // Longer is wrong.
  // Lanes of an operator that makes batches by key give runs, and whoever receives them
  // joins what fills none (ir::KeyedRuns). Else such a pass is one lane.
  bool runs = false;
  bool shuffle_reading = true;  // Rows may be shuffled before they are read.
  bool with_ids =
      false;  // Blocks are to have identities, also where no draw needs them.
  Caches* caches = nullptr;  // What `cache` keeps; null: it keeps nothing.
  std::shared_ptr<std::atomic<bool>> cancelled = {};  // Set when nobody wants it.
  // Told where rows come from. The pass then keeps nothing in caches, nor takes from
  // them: rows that were kept do not say.
  std::shared_ptr<RowOrigins> origins = {};
};

// A shuffle that is done by reading rows in its order.
struct ShuffledReading {
  int64_t window = 1;
  uint64_t seed = 0;
  int64_t call_number = 0;
};

// A pass, ready to run.
struct PassPlan {
  std::vector<ir::Pipeline> pipeline;   // As run, all of it, as its text form has it.
  std::vector<ir::Pipeline> nodes;      // From the source to the last operator.
  std::vector<int> numbers;             // Of each in the whole pipeline's text form.
  std::shared_ptr<ops::Source> source;  // Listed.
  std::shared_ptr<NestedSource> nested = {};  // The same, where other passes are its.
  lanes::Manifest manifest;
  lanes::CutRecord cut;
  lanes::LaneList lanes;
  uint64_t seed = 0;
  uint64_t epoch = 0;
  Delivery order = Delivery::kLogical;
  int last_batching = -1;  // Place of the last batching operator; -1 without one.
  int join = 0;            // Place whose input is counted, and where lanes are joined:
                           // that of the last batching operator, or behind them all.
  bool may_run = false;    // Lanes may give runs ...
  std::optional<ir::KeyedRuns> runs = {};  // ... and do: that operator joins them.
  bool with_ids = false;                   // Somebody needs identities.
  bool writes = false;                     // Its rows go to a disk.
  std::shared_ptr<const std::atomic<bool>> cancelled = {};
  std::shared_ptr<const RowOrigins> sources = {};  // What tells rows by identity.
  std::shared_ptr<RowOrigins> origins = {};  // The same, where operators are to note.
  bool ignored_behind = false;  // Rows that are wrong are left out behind all of it.

  // The rows that come to the joining place from each lane; lanes::kRowsMax where that
  // is not known.
  std::vector<int64_t> joined_rows = {};

  // Why there is one lane, in words for people; empty where there may be many.
  std::string one_lane_reason = {};

  // Of positional operators, by place: the rows that come before each lane.
  std::map<int, std::vector<int64_t>> first_rows = {};

  // Of the pipeline's sources, in the order of the text form.
  std::vector<lanes::CutRecord> cuts = {};
  lanes::Listing listing = {};
  base::Sha256 manifest_hash = {};  // Of that.

  // Set where the first shuffle is done by reading; it is not among the nodes then.
  std::optional<ShuffledReading> shuffled_reading = {};

  // Set where there may be more lanes than were cut so far: Grow cuts more, and tells
  // whether it did.
  std::shared_ptr<BranchSource> growing = {};
  absl::StatusOr<bool> Grow();

  // Cuts all lanes that there are. An error when there is no end of them.
  absl::Status GrowToEnd();

  // Whether there is an end of them.
  bool ends() const;

  // Whether some of its work waits for disks.
  bool waits() const;

  // Finds the operator that joins lanes. Requires: nodes and may_run are there.
  void FindJoin();

  // Follows the rows of each lane through the operators, as far as they are known.
  void CountRows();

  // What the operator at a place may know of a lane, besides what all know.
  ops::LaneContext ContextAt(int place, int64_t lane, const ops::LaneContext& all,
                             ops::BadRows& bad_rows) const;

  // What all operators may know of a lane.
  ops::LaneContext ContextOf(int64_t lane, core::Pool& pool) const;

  // The number of the operator behind a place that ignores its errors; -1 where none of
  // these does.
  int IgnoredBy(int place) const;

  // Whether its errors are ignored, here or behind all of these operators.
  bool Ignores(int place) const { return ignored_behind || IgnoredBy(place) >= 0; }

  // Says who ignores a row that was left out before all of these operators.
  LeftOutRow Ignored(LeftOutRow row) const;

  // "map (%2)": how errors name the operator at a place.
  std::string NameOf(int place) const;
};

// Lists and cuts a pass, to be read into the pool.
absl::StatusOr<PassPlan> PlanPass(const rewrite::Rewritten& pipeline,
                                  const ops::Library& library,
                                  const PassOptions& options,
                                  core::Pool& pool = core::HeapPool());

// What the chunks of the pass are permuted with: the first shuffle's seed and number.
base::RandomKey ChunkKeyOf(const std::vector<ir::Pipeline>& nodes, uint64_t seed,
                           uint64_t epoch);

}  // namespace millrace::exec
