#include "millrace/exec/lane_ids.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/hash.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/read_parts.h"
#include "millrace/exec/stages.h"
#include "millrace/ir/operator.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/cutting.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

// A lane of another plan, where rows come from.
struct InnerLane {
  std::shared_ptr<const PassPlan> plan;
  int64_t lane = 0;
  uint64_t turn = 0;  // The key of a repeat's turn.
};

// The lane that a split of a nested source stands for, where it is one and that is
// known without running anything.
std::optional<InnerLane> InnerLaneOf(const PassPlan& plan, int64_t split) {
  const ir::OperatorTraits& traits = plan.nodes[0].schema().traits;
  if (traits.merges) return std::nullopt;
  if (traits.caches) {  // What is kept is what was computed.
    return InnerLane{.plan = plan.nested->inputs()[0], .lane = split};
  }
  const absl::StatusOr<Inputs> inputs =
      plan.nested->InputsOf({.split = split, .begin = 0, .end = 1});
  if (!inputs.ok()) return std::nullopt;
  const LaneSeries& series = inputs->runs.front();
  return InnerLane{.plan = series.plan, .lane = series.begin, .turn = series.turn};
}

std::optional<std::vector<core::RowId>> NestedIds(const PassPlan& plan,
                                                  const lanes::RowRange& rows) {
  const std::optional<InnerLane> inner = InnerLaneOf(plan, rows.split);
  if (!inner || inner->plan->last_batching >= 0 || SkipPlace(*inner->plan) != 0) {
    return std::nullopt;
  }
  std::optional<std::vector<core::RowId>> ids =
      FirstIds(*inner->plan, inner->lane, rows.end);
  if (!ids) return std::nullopt;
  ids->erase(ids->begin(), ids->begin() + rows.begin);
  if (inner->turn == 0) return ids;
  for (core::RowId& id : *ids) id = base::Combine(id, inner->turn);
  return ids;
}

}  // namespace

void AddIds(lanes::Digest& digest, const core::Block& block, int64_t rows) {
  if (!block.has_ids()) return;
  core::Column ids = block.ids()->Slice(0, rows);
  while (ids.levels().size() > 1) ids = ids.Unstack();
  const absl::Span<const uint64_t> words = ids.As<uint64_t>();
  for (int64_t i = 0; i + 1 < std::ssize(words); i += 2) {
    digest.Add({words[i], words[i + 1]});
  }
}

std::optional<std::vector<core::RowId>> FirstIds(const PassPlan& plan, int64_t lane,
                                                 int64_t rows) {
  const int64_t call_number = plan.nodes[0].call_number();
  std::vector<core::RowId> ids;
  ids.reserve(rows);
  for (const lanes::RowRange& range : lanes::Slice(ReadOrder(plan, lane), 0, rows)) {
    if (plan.nested == nullptr) {
      for (int64_t row = range.begin; row < range.end; ++row) {
        ids.push_back(ops::SourceRowId(call_number, range.split, row));
      }
      continue;
    }
    const std::optional<std::vector<core::RowId>> nested = NestedIds(plan, range);
    if (!nested) return std::nullopt;
    ids.insert(ids.end(), nested->begin(), nested->end());
  }
  return ids;
}

}  // namespace millrace::exec
