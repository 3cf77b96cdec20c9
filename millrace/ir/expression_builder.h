// Builds expressions term by term, checking names and types as they come, so that an
// error is about the term just added. Used by the parser, the C++ builder, the Python
// tracer and the rewrites. One thread; throw away after Build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

// More terms than this are refused: no hand writes them, and memory is bounded.
inline constexpr size_t kTermsMax = 1 << 16;

class ExpressionBuilder {
 public:
  // `input` is what the rows look like; random calls without a number of their own are
  // numbered from `next_call_number` on. The catalog must outlive the expression.
  ExpressionBuilder(const Catalog& catalog, core::Spec input, int64_t next_call_number);

  // Reads a field of the row.
  absl::StatusOr<TermId> Field(std::string_view name);

  // Adds a constant. A weak one gives way to the types it meets. Requires: a weak one
  // is a scalar of int64 or float64, as a plain number in the text is.
  absl::StatusOr<TermId> Literal(const core::Tensor& value, bool weak = false);

  // Calls a kernel. A random one gets `call_number`, or the next.
  absl::StatusOr<TermId> Call(std::string_view kernel, std::vector<TermId> operands,
                              const Arguments& arguments = {},
                              int64_t call_number = kNoCallNumber);

  // Adds a result; without a name when the expression gives one value.
  absl::Status AddResult(std::string_view name, TermId term);

  const Term& term(TermId id) const {
    CHECK_LT(static_cast<size_t>(id), terms_.size());
    return terms_[static_cast<size_t>(id)];
  }

  const core::Spec& input() const { return input_; }

  // Gives the canonical expression of all results added.
  absl::StatusOr<Expression> Build() const;

 private:
  absl::StatusOr<TermId> Add(Term term);
  absl::StatusOr<Term> MakeCall(const KernelSchema& kernel,
                                std::vector<TermId> operands,
                                const Arguments& arguments, int64_t call_number) const;
  absl::StatusOr<ValueType> Infer(const Term& call) const;
  absl::Status CheckLiteralsFit(const Term& call) const;

  const Catalog& catalog_;
  const core::Spec input_;
  int64_t next_call_number_;
  std::vector<Term> terms_;
  std::vector<Result> results_;
  absl::flat_hash_map<base::Sha256, TermId> known_;
  absl::flat_hash_map<std::string, TermId> known_fields_;
  absl::flat_hash_set<std::string> result_names_;
};

// Adds the terms of `expression` to a builder, its fields replaced by the terms that
// `field_terms` gives, in the order of its results: how one row function is put after
// another.
absl::StatusOr<std::vector<TermId>> Inline(
    const Expression& expression, ExpressionBuilder& builder,
    const absl::flat_hash_map<std::string, TermId>& field_terms);

}  // namespace millrace::ir
