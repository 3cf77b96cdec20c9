// The one text form of pipelines: what people read and write, what travels, what is
// stored, and what tests are written in. Printing is canonical, so equal pipelines have
// equal text; parsing what was printed gives the same pipeline.
//
//   millrace 1
//   %0 = range#0(start=0, stop=1000, step=1)
//   %1 = map(%0, function={x: .value * 2 + uniform#1(0.0, 1.0)}, seed=none)
//   %2 = filter(%1, predicate={.x > 10.0}, seed=none)
//   %3 = batch(%2, size=32, drop_remainder=false)
//
// The last line is the pipeline. A `#` and a number behind a name is the call number
// that identities and draws are keyed by; elsewhere `#` starts a comment. Left out,
// call numbers are given in order, after those that are there, and arguments take their
// defaults. The whole grammar, with its limits, is in docs/formats/pipeline_text.md.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "millrace/core/spec.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

inline constexpr int kTextVersion = 1;
inline constexpr size_t kTextBytesMax = size_t{16} << 20;

// A pipeline as it travels: text, and what stands beside it.
struct PipelineText {
  std::string text;
  Attachments attachments;
};

struct PrintOptions {
  bool for_people = false;  // Without the version line and arguments at their defaults.
};

PipelineText Print(const Pipeline& pipeline, const PrintOptions& options = {});

// Parses a pipeline. An error says line and column and names the operator; malformed or
// hostile text is never more than an error.
absl::StatusOr<Pipeline> Parse(std::string_view text, const Attachments& attachments,
                               const Catalog& catalog);

// Prints an argument's value.
std::string PrintValue(const Value& value);

// Prints and parses one row function, braces included.
std::string PrintExpression(const Expression& expression,
                            const PrintOptions& options = {});
absl::StatusOr<Expression> ParseExpression(std::string_view text,
                                           const core::Spec& input,
                                           const Catalog& catalog);

}  // namespace millrace::ir
