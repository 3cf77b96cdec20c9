#include "millrace/ops/operator.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/core/block.h"

namespace millrace::ops {

absl::StatusOr<Held> Operator::Finish(Emitter& /*out*/) { return Held::kNothing; }

absl::Status Operator::FinishPass(const core::Block& tail, Emitter& /*out*/) {
  CHECK_EQ(tail.rows(), 0) << "this operator has no tails";
  return absl::OkStatus();
}

}  // namespace millrace::ops
