#include "millrace/exec/job_facts.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "millrace/exec/cut_facts.h"
#include "millrace/exec/least_memory.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/manifest.h"

namespace millrace::exec {
namespace {

std::optional<JoinFacts> JoinOf(const PassPlan& plan) {
  if (plan.join >= std::ssize(plan.nodes)) return std::nullopt;
  const ir::Pipeline& node = plan.nodes[plan.join];
  const ir::Value* const drops = node.arguments().Find("drop_remainder");
  return JoinFacts{.name = node.name(),
                   .number = plan.numbers[plan.join],
                   .batch_rows = BatchSizeOf(node),
                   .drop_remainder = drops != nullptr && drops->As<bool>(),
                   .runs = plan.runs};
}

// Nothing is done to batches, nor do their rows depend on which others are beside them.
bool IsResizable(const PassPlan& plan) {
  if (plan.join >= std::ssize(plan.nodes)) return false;
  if (plan.nodes[plan.join].name() != "batch") return false;
  return std::all_of(
      plan.nodes.begin() + plan.join + 1, plan.nodes.end(),
      [](const ir::Pipeline& node) { return node.name() == "prefetch"; });
}

// The Python package writes functions as attachments; other operators have expressions.
bool IsPythonCall(const ir::Pipeline& node) {
  const ir::Value* const function = node.arguments().Find("function");
  const ir::List* const parts =
      function == nullptr ? nullptr : function->If<ir::List>();
  return parts != nullptr && !parts->empty() &&
         parts->front().If<ir::Attachment>() != nullptr;
}

}  // namespace

bool CallsPython(const ir::Pipeline& pipeline) {
  return std::ranges::any_of(pipeline.Nodes(), IsPythonCall);
}

PassOptions PassOfJob(uint64_t seed, int64_t pass, lanes::Listing listing,
                      std::vector<lanes::CutRecord> cuts) {
  PassOptions options;
  options.seed = seed;
  options.epoch = static_cast<uint64_t>(pass);
  options.listing = std::move(listing);
  options.cuts = std::move(cuts);
  options.runs = true;
  return options;
}

JobFacts FactsOf(const PassPlan& plan, const ir::Pipeline& written) {
  JobFacts facts = {.join = JoinOf(plan),
                    .lane_bytes = LeastMemory(plan),
                    .row_fingerprint = ir::RowFingerprint(written),
                    .fingerprint = written.fingerprint(),
                    .resizable = IsResizable(plan),
                    .manifest_hash = plan.manifest_hash,
                    .cuts = plan.cuts,
                    .one_lane_reason = plan.one_lane_reason};
  if (plan.growing == nullptr) facts.lanes = plan.lanes.size();
  if (std::ranges::count(plan.joined_rows, lanes::kRowsMax) == 0) {
    facts.lane_rows = plan.joined_rows;
  }
  facts.calls_python = CallsPython(written);
  return facts;
}

}  // namespace millrace::exec
