// cast: brings values to another type. Numbers and bools go to any number or bool, by
// the rules of convert.h; bytes become string where they are valid UTF-8. Numbers and
// texts do not become one another here (see to_text).

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/text.h"
#include "millrace/base/utf8.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/convert.h"
#include "millrace/kernels/elementwise.h"
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

absl::StatusOr<ValueType> InferCast(const KernelTypes& types) {
  const ValueType& from = types.operands[0];
  const DType to = DTypeNamed(types.arguments);
  if (core::IsVariable(from.dtype) != core::IsVariable(to)) {
    return absl::InvalidArgumentError(
        base::StrCat("cannot make ", core::Name(to), " of ", ToString(from),
                     core::IsVariable(to) ? "; to_text makes texts of numbers" : ""));
  }
  return ValueType{.dtype = to, .shape = from.shape};
}

// Texts of one type as those of the other. A string must be valid UTF-8; bytes may be
// anything.
absl::StatusOr<Column> CastTexts(const KernelCall& call) {
  const bool to_string = call.type.dtype == DType::kString;
  std::string found;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      const std::string_view text = operands[0].TextAt(i);
      const size_t valid = to_string ? base::ValidUtf8Size(text) : text.size();
      if (valid < text.size()) {
        found = base::StrCat("bytes are not valid UTF-8 from byte ", valid, " on");
        return i;
      }
      out.AddText(text);
    }
    return count;
  };
  return ElementwiseChecked(call, std::array{DType::kBytes}, loop, found);
}

absl::StatusOr<Column> RunCast(const KernelCall& call) {
  const Column& from = call.operands[0].column;
  const DType to = DTypeNamed(call.arguments);
  if (from.dtype() == to) return from;
  if (core::IsVariable(to)) return CastTexts(call);
  return Convert(from, to, call.pool, call.into);
}

std::vector<std::string> TypeNames() {
  std::vector<std::string> names;
  names.reserve(core::kAllDTypes.size());
  for (const DType dtype : core::kAllDTypes) names.emplace_back(core::Name(dtype));
  return names;
}

}  // namespace

KernelSchema CastKernel() {
  return {.name = "cast",
          .doc =
              "Brings values to another type: floats to integers by truncation, "
              "clamped to the range, integers to smaller ones by wrapping around, "
              "what is not 0 to true; bytes to string where they are valid UTF-8.",
          .operands = {{"x", "Values of any type and shape."}},
          .arguments = {{.name = "dtype",
                         .type = ir::ArgumentType::kText,
                         .doc = "The type to bring them to.",
                         .choices = TypeNames()}},
          .elementwise = true,
          .fails = ir::Fails::kOnData,
          .infer = InferCast,
          .run = RunCast};
}

}  // namespace millrace::kernels
