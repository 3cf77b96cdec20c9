// Comparison, value by value: numbers as their promoted type (integers of any sign
// exactly), texts byte by byte. The result is bool. NaN equals nothing, not even
// itself.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
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

// Compares through std::equal_to, std::less, ...: plain values and texts as they are.
template <typename Relation>
struct Compare {
  template <typename A, typename B>
  bool operator()(A a, B b) const {
    return Relation()(a, b);
  }

  // No type holds both: compared as numbers all the same.
  bool operator()(int64_t a, uint64_t b) const {
    return a < 0 ? Relation()(-1, 0) : Relation()(static_cast<uint64_t>(a), b);
  }

  bool operator()(uint64_t a, int64_t b) const {
    return b < 0 ? Relation()(0, -1) : Relation()(a, static_cast<uint64_t>(b));
  }
};

template <typename A, typename B, typename Relation>
absl::StatusOr<Column> CompareAs(const KernelCall& call) {
  const auto loop = [](absl::Span<const Values> operands, int64_t count,
                       ValueWriter& out) {
    return BinaryLoop<A, B, bool>(operands, count, out, Compare<Relation>());
  };
  return Elementwise(call, std::array{core::kDTypeOf<A>, core::kDTypeOf<B>}, loop);
}

template <typename Relation>
absl::StatusOr<Column> CompareTexts(const KernelCall& call) {
  const auto loop = [](absl::Span<const Values> operands, int64_t count,
                       ValueWriter& out) {
    bool* const result = out.Take<bool>(count);
    for (int64_t i = 0; i < count; ++i) {
      result[i] = Relation()(operands[0].TextAt(i), operands[1].TextAt(i));
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kBytes, DType::kBytes}, loop);
}

template <typename Relation>
absl::StatusOr<Column> RunCompare(const KernelCall& call) {
  const ValueType& a = call.operand_types[0];
  const ValueType& b = call.operand_types[1];
  const std::optional<ir::Promotion> promotion = ir::Promote(a, b);
  CHECK(promotion.has_value());
  const DType dtype = promotion->dtype;
  if (core::IsVariable(dtype)) return CompareTexts<Relation>(call);
  if (core::IsInteger(a.dtype) && core::IsInteger(b.dtype) && core::IsFloat(dtype)) {
    return core::IsSigned(a.dtype) ? CompareAs<int64_t, uint64_t, Relation>(call)
                                   : CompareAs<uint64_t, int64_t, Relation>(call);
  }
  return core::VisitDType(
      dtype, [&]<typename T>() { return CompareAs<T, T, Relation>(call); });
}

absl::StatusOr<ValueType> InferCompare(const KernelTypes& types) {
  if (!ir::Promote(types.operands[0], types.operands[1])) {
    return Needs("two numbers or two texts", types.operands,
                 "to_text makes texts of numbers");
  }
  return ValueType{.dtype = DType::kBool, .shape = TRY(MeetShapes(types.operands))};
}

template <typename Relation>
KernelSchema Comparison(const std::string& name, const std::string& doc) {
  return {.name = name,
          .doc = doc,
          .operands = {{"a", "Numbers, bools or texts."},
                       {"b", "Of the same kind, broadcast against a."}},
          .promotes = true,
          .elementwise = true,
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferCompare,
          .run = RunCompare<Relation>};
}

}  // namespace

KernelSchema EqualKernel() {
  return Comparison<std::equal_to<>>("equal", "Tells whether a equals b.");
}

KernelSchema NotEqualKernel() {
  return Comparison<std::not_equal_to<>>("not_equal",
                                         "Tells whether a differs from b.");
}

KernelSchema LessKernel() {
  return Comparison<std::less<>>("less", "Tells whether a is less than b.");
}

KernelSchema LessEqualKernel() {
  return Comparison<std::less_equal<>>("less_equal",
                                       "Tells whether a is less than b or equals it.");
}

KernelSchema GreaterKernel() {
  return Comparison<std::greater<>>("greater", "Tells whether a is greater than b.");
}

KernelSchema GreaterEqualKernel() {
  return Comparison<std::greater_equal<>>(
      "greater_equal", "Tells whether a is greater than b or equals it.");
}

}  // namespace millrace::kernels
