#include "millrace/client/job_pass.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/listing.h"
#include "millrace/api/state.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/pool.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/tails.h"
#include "millrace/frames/frame.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"

namespace millrace::client {
namespace {

// Joins batches, repeats their rows where they are too few, and gives the part of that
// which is wanted, as one batch.
absl::StatusOr<core::Block> SliceOf(const std::vector<core::Block>& batches,
                                    const ReceivedBatch& received) {
  std::vector<core::Block> pieces;
  int64_t rows = 0;
  for (const core::Block& batch : batches) {
    pieces.push_back(TRY(batch.Unstack()));
    rows += pieces.back().rows();
  }
  if (rows == 0) return absl::DataLossError("a batch without rows was received");
  for (size_t i = 0; rows < received.rows; ++i) {
    pieces.push_back(core::Block(pieces[i]));
    rows += pieces.back().rows();
  }
  const int64_t size = received.slice_end - received.slice_begin;
  const core::Block all = TRY(core::Concatenate(pieces, core::HeapPool()));
  return all.Slice(received.slice_begin, size).Stack(size);
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobPass>> JobPass::Plan(exec::Engine& engine,
                                                       const Source& source,
                                                       int64_t pass) {
  std::unique_ptr<JobPass> planned(new JobPass());
  std::vector<lanes::CutRecord> cuts;
  if (!source.job->state.empty()) {
    cuts = TRY(api::StateFromJson(source.job->state)).cuts;
  }
  const exec::PassOptions options =
      exec::PassOfJob(static_cast<uint64_t>(source.job->seed), pass,
                      TRY(api::ListingFromJson(source.listing)), std::move(cuts));
  planned->plan_ = TRY(engine.PlanLanes(*source.pipeline, *source.library, options));
  planned->facts_ = planned->plan_->Facts();
  planned->pass_ = pass;
  planned->seed_ = options.seed;
  planned->tracks_ = source.job->tracks;
  planned->counted_ = source.job->facts.counted;
  if (!planned->facts_.lanes) {
    return absl::UnimplementedError(
        "a pipeline without end cannot be read from a service yet: leave out repeat(), "
        "and iterate again instead");
  }
  if (planned->facts_.join) {
    planned->joiner_ =
        TRY(exec::TailJoiner::Make(*source.pipeline, *source.library, options));
  }
  return planned;
}

std::vector<int64_t> JobPass::LaneRows() const {
  if (counted_) return facts_.lane_rows;
  return std::vector<int64_t>(*facts_.lanes, lanes::kRowsMax);
}

lanes::Rest JobPass::Whole() const { return lanes::DealAll(LaneRows(), tracks_); }

absl::StatusOr<lanes::Rest> JobPass::Left(const lanes::State& state) const {
  TRY(lanes::Fits(state, {facts_.row_fingerprint, facts_.manifest_hash, {}, {}}));
  return lanes::Resume(state, LaneRows(), {lanes::OrderKind::kFixed, tracks_});
}

lanes::State JobPass::StateOf(const lanes::Rest& rest) const {
  lanes::State state;
  state.pass = pass_;
  state.epoch = static_cast<uint64_t>(pass_);
  state.seed = seed_;
  state.row_fingerprint = facts_.row_fingerprint;
  state.manifest_hash = facts_.manifest_hash;
  state.cuts = facts_.cuts;
  state.order = {lanes::OrderKind::kFixed, tracks_};
  lanes::SetRest(state, rest, *facts_.lanes);
  return state;
}

lanes::Batching JobPass::batching() const {
  if (!facts_.join) return {};
  return {facts_.join->batch_rows, facts_.join->drop_remainder};
}

absl::StatusOr<core::Block> JobPass::Joined(
    const std::vector<core::Block>& tails) const {
  exec::JoinedTails joined = TRY(joiner_->Join(tails, {.ends_pass = true}));
  if (joined.batches.size() != 1) {
    return absl::DataLossError("tails of lanes did not make one batch");
  }
  return std::move(joined.batches.front());
}

absl::StatusOr<core::Block> JobPass::BatchOf(const ReceivedBatch& received) const {
  std::vector<core::Block> batches;
  std::vector<core::Block> tails;
  int64_t rows = 0;
  for (const auto& [frame, part] : received.parts) {
    const core::Block block = TRY(frames::Decode(frame, frames::Summed::kHead));
    if (part.tail) {
      tails.push_back(block.Slice(part.skip, part.rows));
    } else {
      batches.push_back(block);
    }
    rows += part.rows;
  }
  // What fills a short batch up stands behind it.
  if (!tails.empty()) batches.insert(batches.begin(), TRY(Joined(tails)));
  const bool whole = rows == received.rows &&
                     received.slice_end - received.slice_begin == received.rows;
  if (batches.size() == 1 && whole) return batches.front();
  return SliceOf(batches, received);
}

}  // namespace millrace::client
