#include "millrace/ir/expression.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/content_hash.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"

namespace millrace::ir {
namespace {

// Only a plain literal is known not to be zero: one that is itself in every type that
// it may give way to.
bool MayBeZero(const Term& term) {
  if (term.kind != Term::Kind::kLiteral || !term.type.shape.is_scalar() ||
      term.type.dtype != core::DType::kInt64) {
    return true;
  }
  const int64_t value = term.literal.As<int64_t>()[0];
  return value < 1 || value > std::numeric_limits<int8_t>::max();
}

}  // namespace

absl::Status CheckCallNumber(int64_t number) {
  if (number >= 0 && number < kCallNumberMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("call numbers go from 0 to ", kCallNumberMax - 1));
}

bool operator==(const Term& a, const Term& b) {
  return a.kind == b.kind && a.name == b.name && a.literal == b.literal &&
         a.type.weak == b.type.weak && a.operands == b.operands &&
         a.arguments == b.arguments && a.call_number == b.call_number;
}

Expression::Expression(std::vector<Term> terms, std::vector<Result> results)
    : terms_(std::move(terms)), results_(std::move(results)) {
  for (size_t i = 0; i < terms_.size(); ++i) {
    for (const TermId operand : terms_[i].operands) {
      CHECK_LT(static_cast<size_t>(operand), i);
    }
  }
  for (const Result& result : results_) {
    CHECK_LT(static_cast<size_t>(result.term), terms_.size());
  }
}

bool Expression::gives_row() const {
  return results_.size() != 1 || !results_[0].name.empty();
}

std::vector<std::string> Expression::FieldsRead() const {
  std::vector<std::string> names;
  for (const Term& term : terms_) {
    if (term.kind == Term::Kind::kField) names.push_back(term.name);
  }
  return names;
}

bool Expression::IsRandom() const { return NextCallNumber() > 0; }

bool Expression::CanFail(const Term& term) const {
  if (term.kind != Term::Kind::kCall) return false;
  const Fails fails = term.kernel->fails;
  if (fails == Fails::kNever || fails == Fails::kOnData) return fails == Fails::kOnData;
  if (fails == Fails::kOnZero && MayBeZero((*this)[term.operands.back()])) return true;
  return std::ranges::any_of(term.operands, [&](TermId operand) {
    return !(*this)[operand].type.shape.IsKnown();
  });
}

bool Expression::CanFail() const {
  return std::ranges::any_of(terms_,
                             [this](const Term& term) { return CanFail(term); });
}

int64_t Expression::NextCallNumber() const {
  int64_t next = 0;
  for (const Term& term : terms_) next = std::max(next, term.call_number + 1);
  return next;
}

base::Sha256 Expression::Fingerprint() const {
  base::Sha256Hasher hasher;
  hasher.UpdateNumber(terms_.size());
  for (const Term& term : terms_) HashTerm(term, hasher);
  hasher.UpdateNumber(results_.size());
  for (const Result& result : results_) {
    HashText(result.name, hasher);
    hasher.UpdateNumber(static_cast<uint64_t>(result.term));
  }
  return hasher.Finish();
}

}  // namespace millrace::ir
