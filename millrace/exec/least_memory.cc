#include "millrace/exec/least_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/nested_source.h"  // IWYU pragma: keep
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/manifest.h"

namespace millrace::exec {
namespace {

int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  const bool absurd = __builtin_mul_overflow(a, b, &product);
  return absurd ? std::numeric_limits<int64_t>::max() / 2 : product;
}

// What a row takes, where its type tells.
std::optional<int64_t> BytesOf(const core::Spec& spec) {
  int64_t bytes = 0;
  for (const core::FieldSpec& field : spec.fields()) {
    if (core::IsVariable(field.dtype) || !field.shape.ranked() ||
        !field.shape.IsKnown()) {
      return std::nullopt;
    }
    bytes += Times(core::SizeOf(field.dtype), field.shape.Count());
  }
  return bytes;
}

int64_t MeanRowBytes(const PassPlan& plan) {
  if (!plan.manifest.counted() || plan.manifest.total_rows() == 0) return 0;
  return plan.manifest.total_bytes().count() / plan.manifest.total_rows();
}

// The rows that an operator holds at once.
int64_t RowsHeld(const ir::Pipeline& node) {
  const ir::OperatorTraits& traits = node.schema().traits;
  if (traits.batching) return BatchSizeOf(node);
  if (!traits.reorders || traits.permutes_all) {
    return node.schema().rows_held(node.arguments());
  }
  return node.arguments()["window"].As<int64_t>();
}

// An operator that holds rows.
struct Holder {
  std::string name;
  int64_t rows = 0;
  int64_t bytes = 0;
};

// All of a pass, also of those that its rows come from.
std::vector<Holder> HoldersOf(const PassPlan& plan) {
  std::vector<Holder> holders;
  if (plan.nested != nullptr) {
    for (const std::shared_ptr<const PassPlan>& input : plan.nested->inputs()) {
      std::ranges::move(HoldersOf(*input), std::back_inserter(holders));
    }
  }
  int64_t row_bytes = BytesOf(plan.nodes[0].spec()).value_or(MeanRowBytes(plan));
  for (size_t place = 1; place < plan.nodes.size(); ++place) {
    const ir::Pipeline& node = plan.nodes[place];
    const int64_t rows = RowsHeld(node);
    holders.push_back(
        {plan.NameOf(static_cast<int>(place)), rows, Times(rows, row_bytes)});
    const bool passes_on = node.schema().traits.keeps_fields;
    const int64_t grown =
        Times(row_bytes, node.schema().traits.batching ? BatchSizeOf(node) : 1);
    row_bytes = BytesOf(node.spec()).value_or(passes_on ? grown : 0);
  }
  return holders;
}

// Rows of a grain are read and decoded together: lanes that share one are open
// together, so that threads go on to the next grain while these are handed out.
int64_t LanesOfAGrain(const PassPlan& plan) {
  constexpr int64_t kMost = 64;  // Each is asked for work.
  if (!plan.cut.counted || plan.cut.permuted) return 0;
  int64_t grain = 0;
  for (const lanes::Split& split : plan.manifest.splits) {
    grain = std::max(grain, split.grain);
  }
  return std::min(grain / std::max<int64_t>(plan.cut.lane_rows, 1), kMost);
}

}  // namespace

int64_t LeastMemory(const PassPlan& plan) {
  int64_t bytes = 0;
  for (const Holder& holder : HoldersOf(plan)) {
    bytes = std::min(bytes, std::numeric_limits<int64_t>::max() / 2 - 1);
    bytes += std::min(holder.bytes, std::numeric_limits<int64_t>::max() / 2);
  }
  return bytes;
}

absl::Status CheckBudget(const PassPlan& plan, int64_t budget_bytes) {
  const int64_t least = LeastMemory(plan);
  if (least <= budget_bytes) return absl::OkStatus();
  const std::vector<Holder> holders = HoldersOf(plan);
  const Holder& most = *std::ranges::max_element(holders, {}, &Holder::bytes);
  return absl::ResourceExhaustedError(base::StrCat(
      most.name, ": holds ", most.rows, " rows, about ", most.bytes,
      " bytes; all operators together ", least, ", more than the memory budget of ",
      budget_bytes,
      ": give the engine more memory, or make its window or batch smaller"));
}

int64_t LanesAtOnce(const PassPlan& plan, int64_t budget_bytes, int threads) {
  const int64_t lanes = std::max<int64_t>(plan.lanes.size(), 1);
  const int64_t read = plan.manifest.total_bytes().count() / lanes;
  const int64_t held = std::min(LeastMemory(plan), budget_bytes);
  const int64_t each = 2 * held + std::min(read, budget_bytes / 8) + 1;
  const int64_t most = std::max<int64_t>(threads, LanesOfAGrain(plan)) + 1;
  return std::clamp<int64_t>(budget_bytes / 2 / each, 2, most);
}

}  // namespace millrace::exec
