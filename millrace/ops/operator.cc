#include "millrace/ops/operator.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"

namespace millrace::ops {

void Operator::WriteInto(std::vector<core::Buffer> /*places*/) {
  CHECK(false) << "this operator fills no places";
}

absl::StatusOr<Held> Operator::Finish(Emitter& /*out*/) { return Held::kNothing; }

absl::Status Operator::FinishPass(const core::Block& tail, Emitter& /*out*/) {
  CHECK_EQ(tail.rows(), 0) << "this operator has no tails";
  return absl::OkStatus();
}

}  // namespace millrace::ops
