// A row function as data: a small graph of kernels over the fields of a row, typed
// against the rows it will see. Immutable, compared by content, always in one canonical
// form: terms in the order in which results need them, equal terms shared (random calls
// excepted), nothing unused. Made by ExpressionBuilder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "millrace/base/sha256.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

// A term's place in its expression.
enum class TermId : int32_t {};

// The number of a source, random operator or random kernel in the user's own pipeline.
// Draws and row identities depend on it, so it survives every rewrite.
inline constexpr int64_t kNoCallNumber = -1;
inline constexpr int64_t kCallNumberMax = 1 << 16;  // Fits the top of a row identity.

// Checks that a call number is one: at least 0, below kCallNumberMax.
absl::Status CheckCallNumber(int64_t number);

// Rows of more fields than this are refused.
inline constexpr size_t kFieldsMax = 1 << 12;

struct Term {
  enum class Kind : uint8_t { kField, kLiteral, kCall };

  Kind kind = Kind::kField;
  ValueType type;
  std::string name = {};                 // The field's or kernel's.
  core::Tensor literal = {};             // Only of literals.
  const KernelSchema* kernel = nullptr;  // Only of calls, like all below.
  std::vector<TermId> operands = {};
  Arguments arguments = {};
  int64_t call_number = kNoCallNumber;  // Only of random kernels.

  // Same computation; the type follows from it.
  friend bool operator==(const Term& a, const Term& b);
};

struct Result {
  std::string name;  // Empty when the expression gives one value instead of a row.
  TermId term = {};

  friend bool operator==(const Result&, const Result&) = default;
};

class Expression {
 public:
  Expression(std::vector<Term> terms, std::vector<Result> results);

  // In an order in which every term comes after its operands.
  absl::Span<const Term> terms() const { return terms_; }

  const Term& operator[](TermId id) const { return terms_[static_cast<size_t>(id)]; }

  absl::Span<const Result> results() const { return results_; }

  const ValueType& type_of(const Result& result) const {
    return (*this)[result.term].type;
  }

  // Whether the results have names and make a row.
  bool gives_row() const;

  // The names of the fields it reads, each once.
  std::vector<std::string> FieldsRead() const;

  // Whether any kernel in it draws random numbers.
  bool IsRandom() const;

  // Whether a term itself, its operands apart, can fail on a row although its types are
  // right.
  bool CanFail(const Term& term) const;

  // Whether any term can.
  bool CanFail() const;

  // One more than the largest call number in it; 0 when there is none.
  int64_t NextCallNumber() const;

  // The hash of what it computes: kernels with their versions, literals, field and
  // result names. Call numbers count, since draws depend on them.
  base::Sha256 Fingerprint() const;

  friend bool operator==(const Expression&, const Expression&) = default;

 private:
  std::vector<Term> terms_;
  std::vector<Result> results_;
};

}  // namespace millrace::ir
