#include "millrace/exec/explain_lanes.h"

#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>

#include "absl/status/statusor.h"

#include "millrace/base/sha256.h"
#include "millrace/base/text.h"
#include "millrace/exec/known_rows.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

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

namespace {

// The number where it is known, as `len` in Python gives it; else why it is not.
void ExplainRows(const ir::Pipeline& pipeline, const ops::Library& library,
                 std::ostream& out) {
  const absl::StatusOr<KnownRows> known = RowsOf(pipeline, library);
  out << (known.ok() ? known->rows : pipeline.cardinality());
  if (known.ok() && !known->why_unknown.empty()) out << ": " << known->why_unknown;
}

}  // namespace

std::string ExplainPass(const rewrite::Rewritten& pipeline,
                        const ops::Library& library) {
  // Files may be missing where the pipeline is looked at: that is no reason to say
  // nothing.
  const absl::StatusOr<PassPlan> plan = PlanPass(pipeline, library, {});
  const std::string lanes =
      plan.ok() ? ExplainLanes(*plan)
                : base::StrCat("not known here: ", plan.status().message());
  const ir::Pipeline& written = pipeline.before;
  std::ostringstream text;
  text << rewrite::Explain(pipeline) << "spec\n  " << written.spec() << "\nrows\n  ";
  ExplainRows(written, library, text);
  text << "\nlanes\n  " << lanes << "\nfingerprint\n  "
       << base::ToHex(written.fingerprint()) << "\n";
  return text.str();
}

}  // namespace millrace::exec
