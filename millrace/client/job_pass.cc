#include "millrace/client/job_pass.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/listing.h"
#include "millrace/api/rights.h"
#include "millrace/api/state.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/delivery/any_reader.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/job_reader.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/tails.h"
#include "millrace/frames/frame.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/run_turns.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"

namespace millrace::client {
namespace {

constexpr const char* kValid = "valid";

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
    const core::Block again = pieces[i];  // The vector may move.
    pieces.push_back(again);
    rows += pieces.back().rows();
  }
  const int64_t size = received.slice_end - received.slice_begin;
  const core::Block all = TRY(core::Concatenate(pieces, core::HeapPool()));
  return all.Slice(received.slice_begin, size).Stack(size);
}

absl::Status CheckFields(const core::Spec& spec) {
  for (const core::FieldSpec& field : spec.fields()) {
    if (field.name != kValid) continue;
    return absl::InvalidArgumentError(
        "remainder=\"pad\" adds a field \"valid\", and the pipeline has one of that "
        "name: rename it");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobPass>> JobPass::Plan(exec::Engine& engine,
                                                       const Source& source,
                                                       int64_t pass) {
  std::unique_ptr<JobPass> planned(new JobPass(source));
  const std::string& state = source.job->state;
  std::vector<lanes::CutRecord> cuts =
      TRY(api::CutsFromJson(state.empty() ? source.job->facts.cuts : state));
  const exec::PassOptions options =
      exec::PassOfJob(static_cast<uint64_t>(source.job->seed), pass,
                      TRY(api::ListingFromJson(source.listing)), std::move(cuts));
  planned->plan_ = TRY(engine.PlanLanes(*source.pipeline, *source.library, options));
  planned->pass_ = pass;
  planned->seed_ = options.seed;
  TRY(planned->CutTo(1));
  TRY(planned->CheckGroups());
  if (planned->pads()) TRY(CheckFields(source.pipeline->before.spec()));
  if (planned->facts_.join) {
    planned->joiner_ =
        TRY(exec::TailJoiner::Make(*source.pipeline, *source.library, options));
  }
  return planned;
}

// Batches of a group are shared only where lanes give them in runs.
absl::Status JobPass::CheckGroups() const {
  const int64_t consumers = source_.settings.consumers;
  if (facts_.join && facts_.join->runs) {
    if (facts_.join->runs->group % consumers == 0) return absl::OkStatus();
    return absl::InternalError("a job whose consumers do not divide its groups");
  }
  if (consumers == 1) return absl::OkStatus();
  for (const ir::Pipeline& node : source_.pipeline->before.Nodes()) {
    if (!node.schema().keyed_runs(node.arguments())) continue;
    return absl::InvalidArgumentError(base::StrCat(
        node.name(),
        " has a group for consumers to share, and something behind it that its groups "
        "do not come through: put repeat, concat and what else looks at more than one "
        "batch in front of it, or leave the group out"));
  }
  return absl::OkStatus();
}

absl::Status JobPass::CutTo(int64_t lanes) {
  lanes_ = TRY(plan_->CutTo(lanes));
  facts_ = plan_->Facts();
  return absl::OkStatus();
}

std::vector<int64_t> JobPass::LaneRows() const {
  if (counted()) return facts_.lane_rows;
  return std::vector<int64_t>(lanes_, lanes::kRowsMax);
}

lanes::Rest JobPass::Whole() const {
  return lanes::DealAll(LaneRows(), source_.job->tracks);
}

absl::StatusOr<lanes::Rest> JobPass::Left(const lanes::State& state) const {
  TRY(lanes::Fits(state, {facts_.row_fingerprint, facts_.manifest_hash, {}, {}}));
  std::vector<int64_t> rows = LaneRows();
  if (endless() && state.lanes < std::ssize(rows)) rows.resize(state.lanes);
  lanes::Rest rest = TRY(lanes::Resume(state, rows, order()));
  if (batching().runs) TRY(lanes::CheckRuns(rest, *batching().runs));
  return rest;
}

lanes::OrderRecord JobPass::order() const {
  const bool runs = facts_.join && facts_.join->runs;
  return {lanes::OrderKind::kFixed, source_.job->tracks, runs};
}

// --- Reading ---

absl::StatusOr<delivery::BegunPass> JobPass::Begin(
    const std::optional<lanes::State>& state) {
  if (any()) return BeginAny(state);
  if (state && endless()) {
    TRY(CutTo(state->lanes));
    lanes_ = state->lanes;
  }
  return BeginFixed(state);
}

absl::StatusOr<delivery::BegunPass> JobPass::BeginFixed(
    const std::optional<lanes::State>& state) const {
  delivery::FixedReaderOptions options{.pass = pass_};
  options.consumers = source_.settings.consumers;
  options.consumer = source_.consumer;
  options.global_batch = source_.settings.global_batch;
  options.batching = batching();
  options.remainder = delivery::RemainderOf(source_.settings.remainder);
  options.counted = counted();
  options.endless = endless();
  options.credit_bytes = source_.credit_bytes;
  const lanes::Rest rest = state ? TRY(Left(*state)) : Whole();
  const lanes::Rest whole = pads() ? Whole() : lanes::Rest();
  return delivery::BegunPass{
      std::make_unique<delivery::FixedReader>(options, rest, whole)};
}

// What was taken before counts as the first consumer's.
absl::StatusOr<delivery::BegunPass> JobPass::BeginAny(
    const std::optional<lanes::State>& state) const {
  delivery::AnyReaderOptions options{.pass = pass_};
  options.batching = batching();
  options.visit = delivery::VisitOf(source_.settings.visit);
  options.endless = endless();
  options.alone = source_.settings.consumers == 1;
  options.credit_bytes = source_.credit_bytes;
  lanes::Taken taken;
  if (state) {
    TRY(lanes::Fits(*state, {facts_.row_fingerprint, facts_.manifest_hash, {}, {}}));
    taken = TRY(lanes::TakenOf(
        *state, endless() ? TRY(lanes::UnknownRows(state->lanes)) : LaneRows()));
  }
  if (source_.consumer != 0) taken = {};
  return delivery::BegunPass{
      std::make_unique<delivery::AnyReader>(options, LaneRows(), std::move(taken)),
      PassFactsOf()};
}

api::PassFacts JobPass::PassFactsOf() const {
  api::PassFacts facts{.pass = pass_, .lanes = endless() ? api::kEndless : lanes_};
  facts.batch_rows = batching().rows;
  facts.drop_remainder = batching().drop_remainder;
  if (!counted()) return facts;
  for (const int64_t rows : facts_.lane_rows) {
    if (facts.rows.empty() || facts.rows.back().rows != rows) {
      facts.rows.push_back({0, rows});
    }
    ++facts.rows.back().lanes;
  }
  return facts;
}

absl::Status JobPass::DealMore(delivery::PassReader& reader) {
  auto* const fixed = dynamic_cast<delivery::FixedReader*>(&reader);
  while (fixed != nullptr && fixed->wants_lanes()) {
    const int64_t lane = lanes_;
    TRY(CutTo(lane + 1));
    if (lanes_ <= lane) {
      return absl::InternalError("a pass without end has no more lanes");
    }
    lanes_ = lane + 1;
    const int64_t rows = counted() ? facts_.lane_rows.at(lane) : lanes::kRowsMax;
    fixed->DealMore({lane, 0, rows});
  }
  return absl::OkStatus();
}

lanes::State JobPass::StateOf(const delivery::PassReader& reader) const {
  lanes::State state;
  state.pass = pass_;
  state.epoch = static_cast<uint64_t>(pass_);
  state.seed = seed_;
  state.row_fingerprint = facts_.row_fingerprint;
  state.manifest_hash = facts_.manifest_hash;
  state.cuts = facts_.cuts;
  state.lanes = lanes_;
  state.copies = source_.job->copies;
  if (any()) {
    state.order = {lanes::OrderKind::kAny, 1};
    state.part = source_.consumer;
    state.parts = source_.settings.consumers;
  } else {
    state.order = order();
  }
  reader.WriteState(state);
  return state;
}

lanes::Batching JobPass::batching() const {
  if (!facts_.join) return {};
  lanes::Batching batching{facts_.join->batch_rows, facts_.join->drop_remainder};
  if (const std::optional<ir::KeyedRuns>& runs = facts_.join->runs) {
    batching.runs = {runs->group, runs->sizes, source_.settings.consumers,
                     source_.settings.remainder == "drop"};
  }
  return batching;
}

absl::StatusOr<core::Block> JobPass::Joined(
    const std::vector<core::Block>& tails) const {
  exec::JoinedTails joined = TRY(joiner_->Join(tails, {.ends_pass = true}));
  if (joined.batches.size() != 1) {
    return absl::DataLossError("tails of lanes did not make one batch");
  }
  return std::move(joined.batches.front());
}

absl::StatusOr<core::Block> JobPass::RowsOf(const ReceivedBatch& received) const {
  std::vector<core::Block> batches;
  std::vector<core::Block> tails;
  int64_t rows = 0;
  for (const auto& [frame, part] : received.parts) {
    const core::Block block =
        TRY(frame.parts.empty() ? frames::Decode(frame.frame, frames::Summed::kHead)
                                : frames::DecodeParts(frame.frame, frame.parts));
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

// A batch has one for each of its rows.
absl::StatusOr<core::Block> JobPass::WithValid(const core::Block& batch,
                                               int64_t valid) const {
  const int64_t rows = facts_.join ? batch.columns().at(0).LeadingSize(0) : 1;
  core::Buffer values = TRY(core::HeapPool().Allocate(rows * batch.rows()));
  for (int64_t row = 0; row < rows; ++row) {
    values.mutable_data()[row] = static_cast<std::byte>(row < valid ? 1 : 0);
  }
  const core::Shape shape = facts_.join ? core::Shape{rows} : core::Shape();
  core::FieldNames names = batch.names();
  std::vector<core::Column> columns = batch.columns();
  names.emplace_back(kValid);
  columns.push_back(
      core::Column::Dense(core::DType::kBool, batch.rows(), shape, std::move(values)));
  return core::Block(batch.rows(), std::move(names), std::move(columns));
}

absl::StatusOr<core::Block> JobPass::BatchOf(const ReceivedBatch& received) const {
  core::Block batch = TRY(RowsOf(received));
  if (!pads()) return batch;
  // Where lanes give runs batches are counted, and valid as a whole.
  const bool whole = facts_.join && facts_.join->runs && received.valid > 0;
  return WithValid(batch, whole ? lanes::kRowsMax : received.valid);
}

}  // namespace millrace::client
