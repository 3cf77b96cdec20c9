#include "millrace/ir/type.h"

#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"

namespace millrace::ir {
namespace {

using core::DType;

// bool < integer < float: a weak number gives way within its kind or to a higher one.
int Kind(DType dtype) {
  if (dtype == DType::kBool) return 0;
  return core::IsFloat(dtype) ? 2 : 1;
}

DType PromoteWeak(DType weak, DType strong) {
  if (Kind(weak) <= Kind(strong)) return strong;
  return weak;  // A literal is int64 or float64 until it gives way.
}

}  // namespace

std::string ToString(const ValueType& type) {
  return base::StrCat(core::Name(type.dtype),
                      type.shape.is_scalar() ? "" : type.shape.ToString());
}

std::ostream& operator<<(std::ostream& out, const ValueType& type) {
  return out << ToString(type) << (type.weak ? " (weak)" : "");
}

std::optional<Promotion> Promote(const ValueType& a, const ValueType& b) {
  const std::optional<DType> common = core::Promote(a.dtype, b.dtype);
  if (!common) return std::nullopt;
  if (a.weak == b.weak || core::IsVariable(*common)) {
    return Promotion{*common, a.weak && b.weak};
  }
  return Promotion{
      a.weak ? PromoteWeak(a.dtype, b.dtype) : PromoteWeak(b.dtype, a.dtype), false};
}

absl::StatusOr<ValueType> Meet(const ValueType& a, const ValueType& b) {
  const std::optional<Promotion> promotion = Promote(a, b);
  if (!promotion) {
    return absl::InvalidArgumentError(
        base::StrCat("types do not go together: ", ToString(a), " and ", ToString(b)));
  }
  const std::optional<core::Shape> shape = core::Broadcast(a.shape, b.shape);
  if (!shape) {
    return absl::InvalidArgumentError(
        base::StrCat("shapes do not go together: ", a.shape.ToString(), " and ",
                     b.shape.ToString()));
  }
  return ValueType{promotion->dtype, *shape, promotion->weak};
}

}  // namespace millrace::ir
