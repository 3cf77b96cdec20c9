#include "millrace/exec/pass_work.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "millrace/exec/chain.h"
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/pass_place.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/row_wise_stage.h"
#include "millrace/exec/slots.h"
#include "millrace/exec/stages.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {
namespace {

constexpr int64_t kFar = int64_t{1} << 40;  // Rows, between lanes.

bool Waits(const PassPlan& plan, const Stage& stage) {
  const auto first = plan.nodes.begin();
  return std::any_of(
      first + stage.first, first + stage.last + 1,
      [](const ir::Pipeline& node) { return node.schema().traits.waits; });
}

}  // namespace

PassWork::PassWork(const PassPlan& plan, const PassPlace& place)
    : plan_(plan),
      place_(place),
      reading_({.source = *plan.source,
                .name = plan.NameOf(0),
                .number = plan.numbers[0],
                .ignored = plan.Ignores(0),
                .ignored_by = plan.IgnoredBy(0),
                .pool = place.pool,
                .readers = place.threads + 1}) {}

RowWiseWork& PassWork::Of(const Stage& stage) {
  const auto [found, is_new] = row_wise_.try_emplace({stage.first, stage.last});
  if (!is_new) return found->second;
  const ops::LaneContext lane = {.pool = place_.pool,
                                 .seed = plan_.seed,
                                 .epoch = plan_.epoch,
                                 .lane = {},
                                 .cancelled = plan_.cancelled.get(),
                                 .origins = plan_.origins.get()};
  if (std::optional<SlotShape> shape = SlotsBehind(plan_, stage)) {
    found->second.slots.emplace(*std::move(shape), place_.pool);
  }
  if (Waits(plan_, stage)) {
    found->second.task_nanoseconds = RowWiseWork::kWaitingTaskNanoseconds;
  }
  for (int thread = 0; thread <= place_.threads; ++thread) {  // And who waits.
    found->second.chains.push_back(std::make_unique<Chain>(
        plan_, stage, place_.library, ChainLane{lane}, place_.meters));
  }
  return found->second;
}

int64_t FirstPlace(const PassPlan& plan, int64_t number) {
  const int64_t batch = std::max<int64_t>(1, BatchSizeOf(plan.nodes[plan.join]));
  return (kFar / batch + 1) * batch * number;
}

void DropSlots(RowWiseWork& work, int64_t first_place) {
  if (work.slots) work.slots->Drop(first_place, first_place + kFar);
}

}  // namespace millrace::exec
