// The source that zip and mix are: their inputs, each in its own logical order, made
// one stream by a merger. It is one split, since which rows meet is known only by
// counting from the start.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/core/pool.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/library.h"

namespace millrace::exec {

class MergeSource final : public NestedSource {
 public:
  // Requires: library and pool outlive it.
  MergeSource(ir::Pipeline node, std::vector<PassPlan> inputs,
              const ops::Library& library, core::Pool& pool);

  absl::StatusOr<lanes::Manifest> List() override;
  bool waits() const override;
  absl::StatusOr<Inputs> InputsOf(const lanes::RowRange& rows) const override;
  std::vector<std::shared_ptr<const PassPlan>> inputs() const override;

 private:
  const ir::Pipeline node_;
  const std::vector<PassPlan> inputs_;
  const ops::Library& library_;
  core::Pool& pool_;
};

}  // namespace millrace::exec
