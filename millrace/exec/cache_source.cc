#include "millrace/exec/cache_source.h"

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/exec/kept_rows.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"
#include "millrace/storage/entries.h"

namespace millrace::exec {

base::Sha256 ComputationOf(const ir::Pipeline& pipeline, uint64_t seed, bool with_ids) {
  base::Sha256Hasher hasher;
  hasher.Update("cached rows, 1");
  hasher.Update(base::ToHex(pipeline.fingerprint()));
  hasher.UpdateNumber(pipeline.IsRandom() ? seed : 0);
  if (with_ids) hasher.Update(base::ToHex(pipeline.source_numbers()));
  return hasher.Finish();
}

CacheSource::CacheSource(std::string name, std::shared_ptr<PassPlan> computed,
                         core::Pool& pool)
    : name_(std::move(name)), computed_(std::move(computed)), pool_(pool) {
  for (int64_t split = 0; split < SplitsOf(*computed_); ++split) {
    manifest_.splits.push_back(SplitOf(*computed_, LanesOfSplit(*computed_, split),
                                       base::StrCat("cache, part ", split)));
  }
}

// Identities, and draws that are made with them, go by the numbers of files: these
// count as well as what is in the files.
base::Hash128 CacheSource::ContentOf(int64_t split) const {
  const SplitLanes lanes = LanesOfSplit(*computed_, split);
  base::Hash128 hash;
  for (int64_t lane = lanes.begin; lane < lanes.end; ++lane) {
    hash = base::Combine(hash, VersionedHash(*computed_, lane));
    for (const lanes::RowRange& rows : computed_->lanes.Content(lane)) {
      hash = base::Combine(hash, static_cast<uint64_t>(rows.split));
    }
  }
  return hash;
}

absl::Status CacheSource::KeepAt(
    std::shared_ptr<storage::Entries> entries, const base::Sha256& computation,
    const std::function<absl::StatusOr<PassPlan>(std::shared_ptr<ops::Source>,
                                                 lanes::Manifest)>& plan_kept) {
  auto kept = std::make_shared<KeptRows>();
  kept->name = name_;
  kept->entries = std::move(entries);
  for (int64_t split = 0; split < std::ssize(manifest_.splits); ++split) {
    kept->keys.push_back({.computation = computation, .content = ContentOf(split)});
  }
  plan_kept_ = std::make_shared<PassPlan>(
      TRY(plan_kept(std::make_shared<KeptSource>(kept, pool_), manifest_)));
  kept_ = std::move(kept);
  return absl::OkStatus();
}

bool CacheSource::waits() const {
  return computed_->source->waits() || (kept_ != nullptr && kept_->entries->waits());
}

std::vector<std::shared_ptr<const PassPlan>> CacheSource::inputs() const {
  return {computed_};
}

absl::StatusOr<Inputs> CacheSource::InputsOf(const lanes::RowRange& rows) const {
  Inputs inputs;
  if (kept_ != nullptr && kept_->Has(rows.split)) {
    inputs.runs.push_back({.plan = plan_kept_,
                           .begin = rows.split,
                           .end = rows.split + 1,
                           .skip = rows.begin});
    return inputs;
  }
  const SplitLanes lanes = LanesOfSplit(*computed_, rows.split);
  inputs.runs.push_back(
      {.plan = computed_, .begin = lanes.begin, .end = lanes.end, .skip = rows.begin});
  if (kept_ != nullptr && !kept_->gave_up && rows.begin == 0) {
    inputs.recorder = std::make_unique<Recorder>(kept_, rows.split, pool_);
  }
  return inputs;
}

}  // namespace millrace::exec
