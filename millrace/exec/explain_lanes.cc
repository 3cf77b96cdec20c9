#include "millrace/exec/explain_lanes.h"

#include <cstdint>
#include <string>

#include "millrace/base/text.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/operator.h"

namespace millrace::exec {

std::string ExplainLanes(const PassPlan& plan) {
  const int64_t lanes = plan.lanes.size();
  if (lanes == 0) return "none: there are no rows";
  if (!plan.one_lane_reason.empty()) {
    return base::StrCat("1 lane: ", plan.one_lane_reason);
  }
  if (plan.growing != nullptr) {
    return base::StrCat(lanes,
                        " lanes in the first turn of a repeat; each has its own");
  }
  const ir::OperatorTraits& traits = plan.nodes[0].schema().traits;
  const bool branches = traits.branches() && !traits.caches;
  if (lanes > 1 && plan.cut.counted && !branches) {
    return base::StrCat(lanes, " lanes of about ", plan.cut.lane_rows, " rows");
  }
  if (lanes > 1) {
    return base::StrCat(lanes, branches ? " lanes, those of its inputs"
                                        : " lanes, their rows not counted yet");
  }
  if (plan.cut.counted) {
    return base::StrCat("1 lane of ", plan.lanes.lane_rows()[0],
                        " rows: a batch or a shuffle window takes them all, or they "
                        "stand in one file that is only read from its start");
  }
  return "1 lane: the source is small, or one file that is only read from its start; "
         "index it with `millrace data index`";
}

}  // namespace millrace::exec
