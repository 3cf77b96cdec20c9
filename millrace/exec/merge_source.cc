#include "millrace/exec/merge_source.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/base/hash.h"
#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/library.h"

namespace millrace::exec {

MergeSource::MergeSource(ir::Pipeline node, std::vector<PassPlan> inputs,
                         const ops::Library& library, core::Pool& pool)
    : node_(std::move(node)),
      inputs_(std::move(inputs)),
      library_(library),
      pool_(pool) {}

absl::StatusOr<lanes::Manifest> MergeSource::List() {
  base::Hash128 content;
  base::Hash128 versioned;
  base::Bytes bytes(1);
  for (const PassPlan& input : inputs_) {
    for (int64_t lane = 0; lane < input.lanes.size(); ++lane) {
      content = base::Combine(content, input.lanes.ContentHash(lane));
      versioned = base::Combine(versioned, input.lanes.VersionedContentHash(lane));
    }
    bytes += input.manifest.total_bytes();
  }
  lanes::Manifest manifest;
  manifest.splits.push_back(
      {.name = base::StrCat(node_.name(), ", ", base::ToHex(content)),
       .bytes = bytes,
       .version = base::ToHex(versioned),
       .rows = {}});
  return manifest;
}

bool MergeSource::waits() const {
  return std::ranges::any_of(
      inputs_, [](const PassPlan& input) { return input.source->waits(); });
}

// Whoever reads goes through the inputs on its own: their plans may grow.
absl::StatusOr<Inputs> MergeSource::InputsOf(const lanes::RowRange& rows) const {
  Inputs inputs = {.runs = {}, .skip = rows.begin};
  for (const PassPlan& input : inputs_) {
    inputs.runs.push_back({.plan = std::make_shared<PassPlan>(input)});
  }
  inputs.merger =
      library_.MakeMerger(node_, {.pool = pool_,
                                  .inputs = static_cast<int>(inputs_.size()),
                                  .seed = inputs_[0].seed,
                                  .epoch = inputs_[0].epoch,
                                  .origins = inputs_[0].origins.get()});
  return inputs;
}

std::vector<std::shared_ptr<const PassPlan>> MergeSource::inputs() const {
  std::vector<std::shared_ptr<const PassPlan>> plans;
  plans.reserve(inputs_.size());
  for (const PassPlan& input : inputs_) {
    plans.push_back(std::make_shared<const PassPlan>(input));
  }
  return plans;
}

}  // namespace millrace::exec
