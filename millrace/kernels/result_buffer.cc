#include "millrace/kernels/result_buffer.h"

#include <cstdint>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/buffer.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/kernel.h"

namespace millrace::kernels {

absl::StatusOr<core::Buffer> ResultBuffer(const ir::KernelCall& call) {
  CHECK(call.type.shape.IsKnown());
  CHECK(!core::IsVariable(call.type.dtype));
  const int64_t count = TRY(call.type.shape.WithLeading(call.rows).CountChecked());
  const int64_t bytes = count * core::SizeOf(call.type.dtype);
  if (call.into == nullptr) return call.pool.Allocate(bytes);
  CHECK_EQ(call.into->size(), bytes);
  return *call.into;
}

}  // namespace millrace::kernels
