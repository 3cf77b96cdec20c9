#include "millrace/ops/operator.h"

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/core/block.h"

namespace millrace::ops {

absl::Status Operator::Finish(Emitter& /*out*/) { return absl::OkStatus(); }

absl::Status Operator::FinishPass(const core::Block& tail, Emitter& /*out*/) {
  CHECK_EQ(tail.rows(), 0) << "this operator has no tails";
  return absl::OkStatus();
}

}  // namespace millrace::ops
