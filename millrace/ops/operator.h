// How operators run. An operator is a single-threaded object that works through one
// lane: blocks are pushed in, blocks come out of the emitter. It owns no thread, lock,
// file or clock, keeps nothing beyond its lane, and saves no state: to resume is to
// redo the lane and skip. Who runs it (the sequential runner, the engine) decides the
// rest.
//
//   read ──► Push, Push, … ──► Finish          one lane
//              └─► Emit          └─► EmitTail   rows that fill no batch
//                                     └─► into the next lane's Push (logical order), or
//                                         joined at the end of the pass: FinishPass
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/hash.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ir/expression.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::ops {

class Origins;

// Where an operator's blocks go.
class Emitter {
 public:
  virtual ~Emitter() = default;

  // Passes a block on. An error is the reader's; the operator returns it unchanged.
  virtual absl::Status Emit(core::Block block) = 0;

  // The same, of a batch that was made by key, which is told who joins lanes.
  virtual absl::Status EmitOf(int64_t /*key*/, core::Block batch) {
    return Emit(std::move(batch));
  }

  // Hands over rows that fill no batch at the lane's end. `key` tells apart what may
  // not be joined (buckets); plain batches have only key 0.
  virtual absl::Status EmitTail(int64_t key, core::Block rows) = 0;
};

// What an operator may know about where it runs: all that its output may depend on.
struct LaneContext {
  core::Pool& pool;
  uint64_t seed = 0;  // Of the job; an operator's own seed argument comes first.
  uint64_t epoch = 0;
  base::Hash128 lane;                       // The hash of the lane's content.
  int64_t lane_number = 0;                  // Its place in the pass.
  int64_t call_number = ir::kNoCallNumber;  // Of this operator in the user's pipeline.
  int64_t first_row = 0;  // Place in the pass of the lane's first row, where it counts.
  BadRows& bad_rows = NoBadRows();
  const core::Spec* input = nullptr;  // Of the rows that come; the node's.
  // Set when nobody wants the results any more: for operators that wait for others.
  const std::atomic<bool>* cancelled = nullptr;
  Origins* origins = nullptr;  // Set where rows that are made of others are noted.
  storage::BlobStore& blobs = storage::ProcessFiles();  // Where files are.
};

// The seed that an operator draws with: its own argument, else the job's.
inline uint64_t SeedOf(const std::optional<int64_t>& own, const LaneContext& lane) {
  return own ? static_cast<uint64_t>(*own) : lane.seed;
}

// Whether an operator still holds rows back.
enum class Held : uint8_t { kNothing, kMore };

class Operator {
 public:
  virtual ~Operator() = default;

  // Takes the next rows of the lane.
  virtual absl::Status Push(core::Block block, Emitter& out) = 0;

  // Says, by field of what comes out, where the rows of the next Push are wanted:
  // buffers of exactly their size, or empty ones. A wish, not an order.
  // Requires: traits.fills_places.
  virtual void WriteInto(std::vector<core::Buffer> places);

  // Tells whether nothing comes out any more, whatever is pushed: nobody needs to read
  // on then.
  virtual bool ended() const { return false; }

  // The lane has ended: passes on what was held back, about a block of it, and what
  // fills no batch as a tail. Is called again for as long as there is more.
  virtual absl::StatusOr<Held> Finish(Emitter& out);

  // The pass has ended and these joined tails of one key are all that is left.
  virtual absl::Status FinishPass(const core::Block& tail, Emitter& out);
};

}  // namespace millrace::ops
