// Parses row functions as they stand in the text form:
//
//   {$0 = .width * .height; area: $0, large: $0 > 1000 and not .gray}
//   {.label != 3}
//
// Every error says where it is and what was expected.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "millrace/core/spec.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/token_reader.h"

namespace millrace::ir {

// What an expression can refer to.
struct ExpressionScope {
  const Catalog& catalog;
  const Attachments& attachments;
  const core::Spec& input;   // What the rows look like.
  int64_t next_call_number;  // For random calls without a number.
};

// Parses from the opening brace to the closing one.
absl::StatusOr<Expression> ParseFunction(TokenReader& reader,
                                         const ExpressionScope& scope);

}  // namespace millrace::ir
