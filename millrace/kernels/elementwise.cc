#include "millrace/kernels/elementwise.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/broadcast.h"
#include "millrace/kernels/convert.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {

namespace {

absl::StatusOr<core::Column> Run(const ir::KernelCall& call,
                                 absl::Span<const core::DType> dtypes,
                                 const Computation& computation) {
  CHECK_EQ(dtypes.size(), call.operands.size());
  absl::InlinedVector<ir::Operand, 3> operands(call.operands.begin(),
                                               call.operands.end());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (core::IsVariable(dtypes[i])) continue;
    operands[i].column = TRY(Convert(operands[i].column, dtypes[i], call.pool));
  }
  return Broadcast(call.rows, operands, computation, call.pool);
}

}  // namespace

absl::StatusOr<core::Column> Elementwise(const ir::KernelCall& call,
                                         absl::Span<const core::DType> dtypes,
                                         Loop loop, std::string_view failure) {
  return Run(
      call, dtypes,
      {.dtype = call.type.dtype, .loop = loop, .failure = failure, .into = call.into});
}

absl::StatusOr<core::Column> ElementwiseChecked(const ir::KernelCall& call,
                                                absl::Span<const core::DType> dtypes,
                                                Loop loop, const std::string& found) {
  return Run(
      call, dtypes,
      {.dtype = call.type.dtype, .loop = loop, .into = call.into, .found = &found});
}

}  // namespace millrace::kernels
