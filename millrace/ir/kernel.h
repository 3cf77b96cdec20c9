// What a kernel is: one pure function of an expression, with its name, arguments,
// typing rule and code. Kernels work on whole columns at a time and keep no state; what
// they compute for a row depends on that row alone (and, for random ones, on its
// identity).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/random.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

// When a kernel can fail on a row although its types were right. An expression that
// cannot fail may be left out when nobody reads its result; others may not.
enum class Fails : uint8_t {
  kNever,
  kOnUnknownShapes,  // Only where a shape was not known beforehand.
  kOnZero,           // Of division: also where the last operand is 0.
  kOnData,           // Corrupt bytes, an index out of range.
};

// One operand of a running kernel: a value per row, or one value for all of them.
struct Operand {
  core::Column column;
  bool constant = false;  // Then the column has one row, which stands for all.
};

// What random kernels draw from: one generator per row.
struct Draws {
  base::RandomKey key;
  const core::Block* rows;  // With identities.

  base::Generator For(int64_t row) const {
    return base::Generator(key, rows->IdAt(row));
  }
};

struct KernelCall {
  int64_t rows = 0;
  absl::Span<const Operand> operands;
  absl::Span<const ValueType> operand_types;
  const ValueType& type;  // Of the result, as inferred.
  const Arguments& arguments;
  const Draws* draws;  // Null unless the kernel is random.
  core::Pool& pool;

  // Where a dense result may be written instead of new memory: exactly `rows` of the
  // inferred shape, which nobody reads yet; where that is not known, of rows as they
  // were so far. A kernel that writes elsewhere is right too; the caller sees it from
  // the column it gets.
  const core::Buffer* into = nullptr;
};

struct KernelTypes {
  absl::Span<const ValueType> operands;
  const Arguments& arguments;
};

struct OperandSchema {
  std::string name;
  std::string doc;
};

struct KernelSchema {
  std::string name;
  std::string doc;
  int version = 1;  // Raised when results change: caches and fingerprints depend on it.
  std::vector<OperandSchema> operands = {};
  bool variadic = false;  // The last operand may come more than once.
  std::vector<ArgumentSchema> arguments = {};
  bool random = false;       // Draws from a generator; equal calls are never merged.
  bool promotes = false;     // Brings its operands to one type first (NumPy's rules).
  bool elementwise = false;  // Each value of the result comes of one value of each
                             // operand, whatever the shape they are in.
  bool reads_files = false;  // Goes by what they hold when it runs, and not before.
  Fails fails = Fails::kNever;

  // Gives the type of the result, or why there is none.
  std::function<absl::StatusOr<ValueType>(const KernelTypes&)> infer = {};

  // Computes the result: `rows` rows, of the inferred type. An error is about the first
  // row that fails. Where every operand is constant the caller asks for one row.
  std::function<absl::StatusOr<core::Column>(const KernelCall&)> run = {};
};

}  // namespace millrace::ir
