#include "millrace/exec/nested_source.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "millrace/base/bytes.h"
#include "millrace/base/hash.h"
#include "millrace/base/text.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/lanes/manifest.h"

namespace millrace::exec {

SplitLanes LanesOfSplit(const PassPlan& plan, int64_t split) {
  const bool whole = plan.last_batching >= 0;
  if (whole) return {.begin = 0, .end = plan.lanes.size(), .whole = true};
  return {.begin = split, .end = split + 1};
}

int64_t SplitsOf(const PassPlan& plan) {
  return plan.last_batching >= 0 ? 1 : plan.lanes.size();
}

base::Hash128 VersionedHash(const PassPlan& plan, int64_t lane) {
  base::Hash128 hash = plan.lanes.VersionedContentHash(lane);
  for (const auto& [place, first_rows] : plan.first_rows) {
    hash = base::Combine(hash, static_cast<uint64_t>(first_rows[lane]));
  }
  return hash;
}

lanes::Split SplitOf(const PassPlan& plan, const SplitLanes& lanes,
                     const std::string& name) {
  base::Hash128 content;
  base::Hash128 versioned;
  for (int64_t lane = lanes.begin; lane < lanes.end; ++lane) {
    content = base::Combine(content, plan.lanes.ContentHash(lane));
    versioned = base::Combine(versioned, VersionedHash(plan, lane));
  }
  lanes::Split split = {.name = base::StrCat(name, ", ", base::ToHex(content)),
                        .bytes = base::Bytes(std::max<int64_t>(
                            1, plan.manifest.total_bytes().count() / SplitsOf(plan))),
                        .version = base::ToHex(versioned),
                        .rows = {}};
  const bool counted = !lanes.whole && plan.joined_rows[lanes.begin] < lanes::kRowsMax;
  if (counted) split.rows = plan.joined_rows[lanes.begin];
  return split;
}

}  // namespace millrace::exec
