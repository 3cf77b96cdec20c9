#include "millrace/kernels/typing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::kernels {
namespace {

using core::DType;
using ir::ValueType;

// "int64, bool and string[3]".
std::string Listed(absl::Span<const ValueType> types) {
  std::string text;
  for (size_t i = 0; i < types.size(); ++i) {
    const bool last = i + 1 == types.size();
    text += base::StrCat(i == 0 ? "" : (last ? " and " : ", "), ToString(types[i]));
  }
  return text;
}

}  // namespace

absl::Status Needs(std::string_view what, absl::Span<const ValueType> types,
                   std::string_view remedy) {
  return absl::InvalidArgumentError(base::StrCat(
      "needs ", what, ", not ", Listed(types), remedy.empty() ? "" : "; ", remedy));
}

absl::Status CheckAll(absl::Span<const ValueType> types, bool (*accepts)(DType),
                      std::string_view what, std::string_view remedy) {
  const bool right = std::ranges::all_of(
      types, [&](const ValueType& type) { return accepts(type.dtype); });
  return right ? absl::OkStatus() : Needs(what, types, remedy);
}

absl::StatusOr<ValueType> MeetNumbers(absl::Span<const ValueType> types) {
  CHECK(!types.empty());
  ValueType met = types[0];
  for (const ValueType& type : types) {
    if (core::IsVariable(type.dtype)) {
      return Needs("numbers", types, "text_join joins texts");
    }
    met = TRY(Meet(met, type));
  }
  if (met.dtype != DType::kBool) return met;
  return Needs("numbers", types, "cast first, as in cast(x, dtype=\"int64\")");
}

absl::StatusOr<ValueType> MeetTexts(absl::Span<const ValueType> types) {
  TRY(CheckAll(types, core::IsVariable, "texts", "to_text makes texts of numbers"));
  const bool strings = std::ranges::all_of(
      types, [](const ValueType& type) { return type.dtype == DType::kString; });
  return ValueType{.dtype = strings ? DType::kString : DType::kBytes,
                   .shape = TRY(MeetShapes(types))};
}

absl::StatusOr<core::Shape> MeetShapes(absl::Span<const ValueType> types) {
  core::Shape met;
  for (const ValueType& type : types) {
    const std::optional<core::Shape> both = core::Broadcast(met, type.shape);
    if (!both) {
      return absl::InvalidArgumentError(
          base::StrCat("shapes do not go together: ", Listed(types)));
    }
    met = *both;
  }
  return met;
}

core::DType DTypeNamed(const ir::Arguments& arguments) {
  const auto dtype = core::ParseDType(arguments["dtype"].As<std::string>());
  CHECK(dtype.has_value());
  return *dtype;
}

absl::StatusOr<int> ResolveAxis(int64_t axis, const core::Shape& shape) {
  CHECK(shape.ranked());
  const int rank = shape.rank();
  if (axis >= -rank && axis < rank) {
    return static_cast<int>(axis < 0 ? axis + rank : axis);
  }
  return absl::InvalidArgumentError(base::StrCat(
      "there is no axis ", axis, " in a value of shape ", shape.ToString()));
}

}  // namespace millrace::kernels
