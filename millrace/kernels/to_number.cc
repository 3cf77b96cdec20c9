// to_number: the number that a text spells, value by value.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/catalog.h"
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

absl::StatusOr<ValueType> InferToNumber(const KernelTypes& types) {
  ValueType type = TRY(MeetTexts(types.operands));
  type.dtype = DTypeNamed(types.arguments);
  return type;
}

std::string_view WithoutSpaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\r\v\f";
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

// Reads a whole text as a number. The library's reader knows no plus sign.
template <typename T>
std::errc ReadNumber(std::string_view text, T& number) {
  text = WithoutSpaces(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, number);
  return error == std::errc() && rest != end ? std::errc::invalid_argument : error;
}

template <typename T>
absl::StatusOr<Column> RunAs(const KernelCall& call) {
  std::string found;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    T* const result = out.Take<T>(count);
    for (int64_t i = 0; i < count; ++i) {
      const std::string_view text = operands[0].TextAt(i);
      const std::errc error = ReadNumber(text, result[i]);
      if (error == std::errc()) continue;
      found = base::StrCat(ir::Quoted(text),
                           error == std::errc::result_out_of_range
                               ? " is out of the range of "
                               : " is no ",
                           core::Name(call.type.dtype));
      return i;
    }
    return count;
  };
  return ElementwiseChecked(call, std::array{DType::kBytes}, loop, found);
}

absl::StatusOr<Column> RunToNumber(const KernelCall& call) {
  return core::VisitDType(call.type.dtype, [&]<typename T>() -> absl::StatusOr<Column> {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      return RunAs<T>(call);
    }
    CHECK(false) << call.type.dtype;
  });
}

std::vector<std::string> NumberNames() {
  std::vector<std::string> names;
  for (const DType dtype : core::kAllDTypes) {
    const bool whole = core::IsInteger(dtype);
    const bool real = dtype == DType::kFloat32 || dtype == DType::kFloat64;
    if (whole || real) names.emplace_back(core::Name(dtype));
  }
  return names;
}

}  // namespace

KernelSchema ToNumberKernel() {
  return {.name = "to_number",
          .doc =
              "Reads texts as decimal numbers, with white space around them; a text "
              "that is none, or out of range, is an error of the row.",
          .operands = {{"x", "Texts of any shape."}},
          .arguments = {{.name = "dtype",
                         .type = ir::ArgumentType::kText,
                         .doc = "The type of the numbers.",
                         .default_value = "float32",
                         .choices = NumberNames()}},
          .fails = ir::Fails::kOnData,
          .infer = InferToNumber,
          .run = RunToNumber};
}

}  // namespace millrace::kernels
