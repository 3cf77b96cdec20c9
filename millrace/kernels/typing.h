// The typing rules that several kernels share: what their operands must be, what type
// comes out where values meet, which axis is meant. Errors name the types. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::kernels {

// "needs numbers, not bool and string; <remedy>".
absl::Status Needs(std::string_view what, absl::Span<const ir::ValueType> types,
                   std::string_view remedy = {});

// Checks that every operand has a type for which `accepts` holds.
absl::Status CheckAll(absl::Span<const ir::ValueType> types,
                      bool (*accepts)(core::DType), std::string_view what,
                      std::string_view remedy = {});

// Gives the type of numbers that meet: promoted, broadcast, weak if all are. An error
// when one is text, or when none is more than a bool.
absl::StatusOr<ir::ValueType> MeetNumbers(absl::Span<const ir::ValueType> types);

// Gives the type of texts that meet: string if all are, else bytes.
absl::StatusOr<ir::ValueType> MeetTexts(absl::Span<const ir::ValueType> types);

// Gives the shape to which all are broadcast.
absl::StatusOr<core::Shape> MeetShapes(absl::Span<const ir::ValueType> types);

// The type that the argument `dtype` names. Requires: one of its choices.
core::DType DTypeNamed(const ir::Arguments& arguments);

// Resolves an axis that may count from the end. The error names axis and shape.
// Requires: ranked.
absl::StatusOr<int> ResolveAxis(int64_t axis, const core::Shape& shape);

}  // namespace millrace::kernels
