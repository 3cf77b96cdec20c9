#include "millrace/exec/pass_plan.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/exec/branch_source.h"  // IWYU pragma: keep
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/left_out.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {
namespace {

// The rows that ever come to the joining place.
ir::Cardinality AllJoined(const PassPlan& plan) {
  const auto end = static_cast<int>(plan.nodes.size());
  return plan.nodes[std::min(plan.join, end) - 1].cardinality();
}

// Tells whether the rows of the lanes, added up, will once be all.
bool EndsByCount(const PassPlan& plan) {
  return AllJoined(plan).known() &&
         std::ranges::count(plan.joined_rows, lanes::kRowsMax) == 0;
}

// Tells whether all rows that will ever come are in the lanes that are there: what
// stands behind an endless repeat may take so many and no more.
bool GivesAll(const PassPlan& plan) {
  const ir::Cardinality all = AllJoined(plan);
  int64_t rows = 0;
  for (const int64_t lane_rows : plan.joined_rows)
    rows += std::min(lane_rows, lanes::kRowsMax - rows);
  return all.known() && rows >= all.rows() && rows < lanes::kRowsMax;
}

}  // namespace

ops::LaneContext PassPlan::ContextAt(int place, int64_t lane,
                                     const ops::LaneContext& all,
                                     ops::BadRows& bad_rows) const {
  ops::LaneContext context = {.pool = all.pool,
                              .seed = all.seed,
                              .epoch = all.epoch,
                              .lane = all.lane,
                              .lane_number = all.lane_number,
                              .call_number = all.call_number,
                              .first_row = all.first_row,
                              .bad_rows = bad_rows,
                              .cancelled = all.cancelled,
                              .origins = all.origins,
                              .blobs = all.blobs};
  const auto found = first_rows.find(place);
  if (found != first_rows.end()) context.first_row = found->second[lane];
  return context;
}

ops::LaneContext PassPlan::ContextOf(int64_t lane, core::Pool& pool) const {
  return {.pool = pool,
          .seed = seed,
          .epoch = epoch,
          .lane = lanes.ContentHash(lane),
          .lane_number = lane,
          .cancelled = cancelled.get(),
          .origins = origins.get()};
}

int PassPlan::IgnoredBy(int place) const {
  const int behind = IgnoringPlace(nodes, place);
  return behind < 0 ? -1 : numbers[behind];
}

LeftOutRow PassPlan::Ignored(LeftOutRow row) const {
  if (row.by < 0) row.by = IgnoredBy(0);
  return row;
}

std::string PassPlan::NameOf(int place) const {
  return base::StrCat(nodes[place].name(), " (%", numbers[place], ")");
}

void PassPlan::FindJoin() {
  last_batching = LastBatching(nodes);
  join = JoinPlace(nodes, last_batching);
  runs.reset();
  const int place = may_run ? RunsPlace(nodes) : -1;
  if (place < 0) return;
  last_batching = join = place;
  runs = nodes[place].schema().keyed_runs(nodes[place].arguments());
}

void PassPlan::CountRows() {
  std::vector<int64_t> rows = lanes.lane_rows();
  first_rows.clear();
  bool known = cut.counted && !MayLeaveOut(nodes, 0, ignored_behind);
  for (int place = 1; place < join; ++place) {
    const ir::Pipeline& node = nodes[place];
    const bool positional = node.schema().traits.positional;
    known = known && (positional || KeepsCount(nodes, place, ignored_behind));
    if (!known || !positional) continue;
    std::vector<int64_t>& first = first_rows[place];
    int64_t before = 0;
    for (int64_t& lane_rows : rows) {
      first.push_back(before);
      before += lane_rows;
      lane_rows = node.schema().count_of_run(node.arguments(), first.back(), lane_rows);
    }
  }
  if (!known || runs) rows.assign(rows.size(), lanes::kRowsMax);
  if (nodes.back().schema().traits.sinks) rows.assign(rows.size(), 1);
  joined_rows = std::move(rows);
}

absl::StatusOr<bool> PassPlan::Grow() {
  if (growing == nullptr) return false;
  if (!GivesAll(*this)) TRY(growing->Grow());
  lanes::Manifest grown = growing->manifest();
  if (GivesAll(*this) || grown.splits.size() == manifest.splits.size()) {
    growing = nullptr;
    return false;
  }
  manifest = cut.counted ? std::move(grown) : lanes::WithoutCounts(std::move(grown));
  lanes = TRY(lanes::LaneList::Cut(manifest, cut, base::RandomKey(0, 0, 0)));
  CountRows();
  return true;
}

bool PassPlan::ends() const {
  return growing == nullptr || growing->ends() || EndsByCount(*this);
}

bool PassPlan::waits() const { return writes || source->waits(); }

absl::Status PassPlan::GrowToEnd() {
  if (growing != nullptr && !EndsByCount(*this)) TRY(growing->GrowToEnd());
  while (TRY(Grow())) {
  }
  return absl::OkStatus();
}

base::RandomKey ChunkKeyOf(const std::vector<ir::Pipeline>& nodes, uint64_t seed,
                           uint64_t epoch) {
  for (const ir::Pipeline& node : nodes) {
    if (!node.schema().traits.reorders) continue;
    const ir::Value& own = node.arguments()["seed"];
    return {own.is_none() ? seed : static_cast<uint64_t>(own.As<int64_t>()), epoch,
            static_cast<uint64_t>(node.call_number())};
  }
  return {seed, epoch, 0};
}

}  // namespace millrace::exec
