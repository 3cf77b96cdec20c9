// One number per row, as operands that steer a kernel are (an index, the bounds of a
// draw): any numeric type, any layout, constant or not, read as one C++ type.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/ir/kernel.h"

namespace millrace::kernels {

// Brings an operand to one dense column of scalars. An error when a row is not a
// scalar.
absl::StatusOr<core::Column> ScalarColumn(const ir::Operand& operand, core::DType dtype,
                                          core::Pool& pool);

template <typename T>
class Scalars {
 public:
  static absl::StatusOr<Scalars> Open(const ir::Operand& operand, core::Pool& pool) {
    absl::StatusOr<core::Column> column =
        ScalarColumn(operand, core::kDTypeOf<T>, pool);
    if (!column.ok()) return column.status();
    return Scalars(*std::move(column), operand.constant);
  }

  T operator[](int64_t row) const { return values_[constant_ ? 0 : row]; }

 private:
  Scalars(core::Column column, bool constant)
      : column_(std::move(column)),
        values_(column_.As<T>().data()),
        constant_(constant) {}

  core::Column column_;  // Keeps the values alive.
  const T* values_;
  bool constant_;
};

}  // namespace millrace::kernels
