#include "millrace/client/job_pass.h"

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

absl::StatusOr<core::Block> JobPass::BatchOf(
    const std::vector<ReceivedPart>& parts) const {
  std::vector<core::Block> tails;
  for (const ReceivedPart& part : parts) {
    const core::Block block = TRY(frames::Decode(part.frame, frames::Summed::kHead));
    if (!part.part.tail) return block;
    tails.push_back(block.Slice(part.part.skip, part.part.rows));
  }
  exec::JoinedTails joined = TRY(joiner_->Join(tails, {.ends_pass = true}));
  if (joined.batches.size() != 1) {
    return absl::DataLossError("tails of lanes did not make one batch");
  }
  return std::move(joined.batches.front());
}

}  // namespace millrace::client
