// Logic on bools, value by value. Both sides are always computed.

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/elementwise.h"
#include "millrace/kernels/loops.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

// Without short cuts, so that loops over it have no branches.
struct Both {
  bool operator()(bool a, bool b) const { return (a & b) != 0; }
};

struct Either {
  bool operator()(bool a, bool b) const { return (a | b) != 0; }
};

struct Neither {
  bool operator()(bool a) const { return !a; }
};

template <typename Function>
absl::StatusOr<Column> RunBinary(const KernelCall& call) {
  const auto loop = [](absl::Span<const Values> operands, int64_t count,
                       ValueWriter& out) {
    return BinaryLoop<bool, bool, bool>(operands, count, out, Function());
  };
  return Elementwise(call, std::array{DType::kBool, DType::kBool}, loop);
}

absl::StatusOr<Column> RunNot(const KernelCall& call) {
  const auto loop = [](absl::Span<const Values> operands, int64_t count,
                       ValueWriter& out) {
    return UnaryLoop<bool, bool>(operands, count, out, Neither());
  };
  return Elementwise(call, std::array{DType::kBool}, loop);
}

absl::StatusOr<ValueType> InferLogic(const KernelTypes& types) {
  const auto is_bool = [](DType dtype) { return dtype == DType::kBool; };
  TRY(CheckAll(types.operands, is_bool, "bools",
               "compare first, as in x != 0, or cast(x, dtype=\"bool\")"));
  return ValueType{.dtype = DType::kBool, .shape = TRY(MeetShapes(types.operands))};
}

template <typename Function>
KernelSchema Binary(const std::string& name, const std::string& doc) {
  return {.name = name,
          .doc = doc,
          .operands = {{"a", "Bools."}, {"b", "Bools, broadcast against a."}},
          .elementwise = true,
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferLogic,
          .run = RunBinary<Function>};
}

}  // namespace

KernelSchema AndKernel() { return Binary<Both>("and", "Tells whether both are true."); }

KernelSchema OrKernel() {
  return Binary<Either>("or", "Tells whether at least one is true.");
}

KernelSchema NotKernel() {
  return {.name = "not",
          .doc = "Turns true into false and false into true.",
          .operands = {{"x", "Bools of any shape."}},
          .elementwise = true,
          .infer = InferLogic,
          .run = RunNot};
}

}  // namespace millrace::kernels
