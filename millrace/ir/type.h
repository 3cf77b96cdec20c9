// The type of an expression's value: what the value holds and, as far as known, its
// shape. A literal number without a suffix is *weak*: it takes the type of what it
// meets (2 * image stays uint8), as in NumPy 2 and JAX. Plain values.
#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"

#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"

namespace millrace::ir {

// Values of more axes than this are refused: nothing real has them.
inline constexpr int kRankMax = 32;

struct ValueType {
  core::DType dtype = core::DType::kBool;
  core::Shape shape;
  bool weak = false;  // Gives way to any type of its kind (bool, integer, float).

  friend bool operator==(const ValueType&, const ValueType&) = default;
};

// "uint8[?, ?, 3]".
std::string ToString(const ValueType& type);
std::ostream& operator<<(std::ostream& out, const ValueType& type);

// The type and weakness that two operands have together; nothing when text meets
// numbers.
struct Promotion {
  core::DType dtype = core::DType::kBool;
  bool weak = false;
};

std::optional<Promotion> Promote(const ValueType& a, const ValueType& b);

// The type of an element-wise result of two operands: promoted and broadcast.
absl::StatusOr<ValueType> Meet(const ValueType& a, const ValueType& b);

}  // namespace millrace::ir
