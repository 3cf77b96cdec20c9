// The source that a cache is. Its splits are the lanes of what stands before it: one
// for each chunk where all of that works row by row, whatever batches and shuffles
// follow; one for all where rows are batched. A split is computed, and written down on
// the way, or read where it was kept. That pass is always one of epoch 0: what comes
// out does not depend on what is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"
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

// Names what a pipeline gives in its epoch 0, with the identities of its rows where
// these come with it.
base::Sha256 ComputationOf(const ir::Pipeline& pipeline, uint64_t seed, bool with_ids);

class CacheSource final : public NestedSource {
 public:
  // Requires: all lanes of the plan are cut, and the pool outlives it.
  CacheSource(std::string name, std::shared_ptr<PassPlan> computed, core::Pool& pool);

  absl::StatusOr<lanes::Manifest> List() override { return manifest_; }

  // Has rows kept from now on. `plan_kept` makes the plan that reads them, of a source
  // with a split and a lane for each of these.
  absl::Status KeepAt(std::shared_ptr<storage::Entries> entries,
                      const base::Sha256& computation,
                      const std::function<absl::StatusOr<PassPlan>(
                          std::shared_ptr<ops::Source>, lanes::Manifest)>& plan_kept);

  bool waits() const override;
  absl::StatusOr<Inputs> InputsOf(const lanes::RowRange& rows) const override;
  std::vector<std::shared_ptr<const PassPlan>> inputs() const override;

 private:
  base::Hash128 ContentOf(int64_t split) const;

  const std::string name_;
  const std::shared_ptr<PassPlan> computed_;
  core::Pool& pool_;
  lanes::Manifest manifest_;
  std::shared_ptr<KeptRows> kept_;       // Null: nothing is kept ...
  std::shared_ptr<PassPlan> plan_kept_;  // ... or read by this.
};

}  // namespace millrace::exec
