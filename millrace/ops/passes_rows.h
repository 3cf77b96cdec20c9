// An operator that does nothing to rows: what it stands for is done elsewhere, by
// whoever plans or runs the pass, as its traits tell them.
#pragma once

#include <utility>

#include "absl/status/status.h"

#include "millrace/core/block.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {

template <typename Args>
class PassesRows final : public Operator {
 public:
  PassesRows(const Args& /*args*/, const LaneContext& /*lane*/) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    return out.Emit(std::move(block));
  }
};

}  // namespace millrace::ops
