#include "millrace/ir/expression_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/base/utf8.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/content_hash.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using core::DType;
using core::Tensor;

constexpr size_t kOperandsMax = 256;

absl::Status CheckOperandCount(const KernelSchema& kernel, size_t given) {
  const size_t wanted = kernel.operands.size();
  const bool right = kernel.variadic ? given >= wanted : given == wanted;
  const bool too_many = kernel.variadic && given > kOperandsMax;
  if (right && !too_many) return absl::OkStatus();
  const std::string count =
      too_many ? base::StrCat("at most ", kOperandsMax)
               : base::StrCat(kernel.variadic ? "at least " : "", wanted);
  return absl::InvalidArgumentError(
      base::StrCat("takes ", count, !too_many && wanted == 1 ? " operand" : " operands",
                   ", not ", given));
}

absl::Status CheckRank(const core::Shape& shape) {
  if (!shape.ranked() || shape.rank() <= kRankMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("a value has ", shape.rank(), " axes, more than ", kRankMax));
}

// A string is valid UTF-8 wherever it comes from; other texts are bytes.
absl::Status CheckStrings(const Tensor& value) {
  if (value.dtype() != DType::kString) return absl::OkStatus();
  for (int64_t i = 0; i < value.count(); ++i) {
    if (base::IsUtf8(value.TextAt(i))) continue;
    return absl::InvalidArgumentError(base::StrCat("a string is not valid UTF-8: \"",
                                                   Shown(value.TextAt(i)),
                                                   "\"; bytes are written b\"...\""));
  }
  return absl::OkStatus();
}

// "image, label", of many only the first.
std::string SomeNames(const core::Spec& spec) {
  constexpr size_t kShownMax = 20;
  std::string names;
  for (size_t i = 0; i < std::min(spec.fields().size(), kShownMax); ++i) {
    names += base::StrCat(i == 0 ? "" : ", ", Shown(spec.fields()[i].name));
  }
  if (names.empty()) return "none";
  return spec.fields().size() > kShownMax ? names + ", ..." : names;
}

// Whether an integer literal can be a value of an integer type.
bool Fits(int64_t value, DType dtype) {
  return core::VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return std::in_range<T>(value);
    } else {
      return true;
    }
  });
}

// The type that all have together, nothing when texts meet numbers. Weak ones come
// last: they give way to what the others have together, in whatever order they stand.
std::optional<DType> CommonType(absl::Span<const ValueType> types) {
  std::optional<ValueType> together;
  for (const bool weak : {false, true}) {
    for (const ValueType& type : types) {
      if (type.weak != weak) continue;
      const std::optional<Promotion> promotion = Promote(together.value_or(type), type);
      if (!promotion) return std::nullopt;
      together = ValueType{promotion->dtype, {}, promotion->weak};
    }
  }
  return together ? std::optional(together->dtype) : std::nullopt;
}

// One bit pattern for all NaNs, so that equal literals look equal in the text form.
Tensor WithOneNan(const Tensor& value) {
  if (!core::IsFloat(value.dtype()) || value.shape().rank() > 0) return value;
  return core::VisitDType(value.dtype(), [&]<typename T>() -> Tensor {
    if constexpr (std::is_floating_point_v<T>) {
      const T number = value.As<T>()[0];
      if (number != number) return Tensor::Scalar(std::numeric_limits<T>::quiet_NaN());
    } else if constexpr (!std::is_integral_v<T>) {  // The 16-bit floats.
      const auto number = static_cast<float>(value.As<T>()[0]);
      if (number != number) {
        return Tensor::Scalar(T(std::numeric_limits<float>::quiet_NaN()));
      }
    }
    return value;
  });
}

absl::Status CheckResultName(std::string_view name) {
  if (base::IsUtf8(name)) return core::CheckFieldName(name);
  return absl::InvalidArgumentError(
      base::StrCat("a field's name is not valid UTF-8: ", Shown(name)));
}

// The terms that results need, each after its operands.
class Reachable {
 public:
  explicit Reachable(const std::vector<Term>& terms)
      : terms_(terms), place_(terms.size(), kNotPlaced) {}

  // Walks without recursion: expressions may be deep.
  void Visit(TermId root) {
    std::vector<std::pair<TermId, size_t>> path = {{root, 0}};
    while (!path.empty()) {
      auto& [id, next] = path.back();
      const std::vector<TermId>& operands = terms_[static_cast<size_t>(id)].operands;
      if (Placed(id)) {
        path.pop_back();
      } else if (next < operands.size()) {
        const TermId operand = operands[next++];
        if (!Placed(operand)) path.emplace_back(operand, 0);
      } else {
        Place(id);
        path.pop_back();
      }
    }
  }

  TermId PlaceOf(TermId id) const { return place_[static_cast<size_t>(id)]; }

  std::vector<Term> TakeTerms() { return std::move(ordered_); }

 private:
  static constexpr TermId kNotPlaced = TermId{-1};

  bool Placed(TermId id) const { return PlaceOf(id) != kNotPlaced; }

  void Place(TermId id) {
    Term term = terms_[static_cast<size_t>(id)];
    for (TermId& operand : term.operands) operand = PlaceOf(operand);
    place_[static_cast<size_t>(id)] = static_cast<TermId>(ordered_.size());
    ordered_.push_back(std::move(term));
  }

  const std::vector<Term>& terms_;
  std::vector<TermId> place_;
  std::vector<Term> ordered_;
};

}  // namespace

ExpressionBuilder::ExpressionBuilder(const Catalog& catalog, core::Spec input,
                                     int64_t next_call_number)
    : catalog_(catalog),
      input_(std::move(input)),
      next_call_number_(next_call_number) {}

absl::StatusOr<TermId> ExpressionBuilder::Add(Term term) {
  base::Sha256Hasher hasher;
  HashTerm(term, hasher);
  const base::Sha256 hash = hasher.Finish();
  if (const auto found = known_.find(hash); found != known_.end()) return found->second;
  if (terms_.size() >= kTermsMax) {
    return absl::InvalidArgumentError(
        base::StrCat("expression has more than ", kTermsMax, " terms"));
  }
  const auto id = static_cast<TermId>(terms_.size());
  known_.emplace(hash, id);
  terms_.push_back(std::move(term));
  return id;
}

absl::StatusOr<TermId> ExpressionBuilder::Field(std::string_view name) {
  // Rows may have thousands of fields, and be read as often.
  const std::string key(name);
  const auto known = known_fields_.find(key);
  if (known != known_fields_.end()) return known->second;
  const core::FieldSpec* field = input_.Find(name);
  if (field == nullptr) {
    std::vector<std::string> names;
    for (const core::FieldSpec& other : input_.fields()) names.push_back(other.name);
    return absl::InvalidArgumentError(
        base::StrCat("there is no field ", Shown(name), Suggestion(name, names),
                     "; fields are: ", SomeNames(input_)));
  }
  const TermId id = TRY(Add({.kind = Term::Kind::kField,
                             .type = {.dtype = field->dtype, .shape = field->shape},
                             .name = field->name}));
  known_fields_.emplace(key, id);
  return id;
}

absl::StatusOr<TermId> ExpressionBuilder::Literal(const Tensor& value, bool weak) {
  CHECK(!weak || value.shape().is_scalar());
  CHECK(!weak || value.dtype() == DType::kInt64 || value.dtype() == DType::kFloat64);
  TRY(CheckRank(value.shape()));
  TRY(CheckStrings(value));
  return Add({.kind = Term::Kind::kLiteral,
              .type = {.dtype = value.dtype(), .shape = value.shape(), .weak = weak},
              .literal = WithOneNan(value)});
}

absl::StatusOr<TermId> ExpressionBuilder::Call(std::string_view name,
                                               std::vector<TermId> operands,
                                               const Arguments& arguments,
                                               int64_t call_number) {
  const KernelSchema* kernel = TRY(catalog_.FindKernel(name));
  absl::StatusOr<Term> call =
      MakeCall(*kernel, std::move(operands), arguments, call_number);
  if (!call.ok()) return base::Annotate(call.status(), kernel->name);
  next_call_number_ = std::max(next_call_number_, call->call_number + 1);
  return Add(*std::move(call));
}

absl::StatusOr<Term> ExpressionBuilder::MakeCall(const KernelSchema& kernel,
                                                 std::vector<TermId> operands,
                                                 const Arguments& arguments,
                                                 int64_t call_number) const {
  TRY(CheckOperandCount(kernel, operands.size()));
  Term call = {.kind = Term::Kind::kCall,
               .type = {},
               .name = kernel.name,
               .kernel = &kernel,
               .operands = std::move(operands)};
  call.arguments = TRY(CheckArguments(kernel.arguments, arguments));
  call.type = TRY(Infer(call));
  TRY(CheckLiteralsFit(call));
  if (kernel.random) {
    call.call_number = call_number == kNoCallNumber ? next_call_number_ : call_number;
    TRY(CheckCallNumber(call.call_number));
  } else if (call_number != kNoCallNumber) {
    return absl::InvalidArgumentError("only random kernels are numbered");
  }
  return call;
}

absl::StatusOr<ValueType> ExpressionBuilder::Infer(const Term& call) const {
  std::vector<ValueType> types;
  types.reserve(call.operands.size());
  for (const TermId operand : call.operands) types.push_back(term(operand).type);
  ValueType type =
      TRY(call.kernel->infer({.operands = types, .arguments = call.arguments}));
  TRY(CheckRank(type.shape));
  return type;
}

// An integer without a suffix that meets uint8 must be one: 300 would silently wrap.
absl::Status ExpressionBuilder::CheckLiteralsFit(const Term& call) const {
  if (!call.kernel->promotes) return absl::OkStatus();
  std::vector<ValueType> types;
  types.reserve(call.operands.size());
  for (const TermId operand : call.operands) types.push_back(term(operand).type);
  const std::optional<DType> together = CommonType(types);
  if (!together || !core::IsInteger(*together)) return absl::OkStatus();
  for (const TermId operand : call.operands) {
    const Term& literal = term(operand);
    if (literal.kind != Term::Kind::kLiteral || !literal.type.weak) continue;
    if (literal.type.dtype != DType::kInt64) continue;
    const int64_t value = literal.literal.As<int64_t>()[0];
    if (Fits(value, *together)) continue;
    return absl::InvalidArgumentError(
        base::StrCat("the number ", value, " does not fit ", core::Name(*together),
                     "; give it a type, as in ", value, "i64"));
  }
  return absl::OkStatus();
}

absl::Status ExpressionBuilder::AddResult(std::string_view name, TermId term) {
  CHECK_LT(static_cast<size_t>(term), terms_.size());
  const bool named = !name.empty();
  if (named) TRY(CheckResultName(name));
  if (!results_.empty() && (!named || results_[0].name.empty())) {
    return absl::InvalidArgumentError("several results, of which one has no name");
  }
  if (results_.size() >= kFieldsMax) {
    return absl::InvalidArgumentError(
        base::StrCat("expression has more than ", kFieldsMax, " results"));
  }
  if (!result_names_.insert(std::string(name)).second) {
    return absl::InvalidArgumentError(
        base::StrCat("result ", Shown(name), " is given twice"));
  }
  results_.push_back({std::string(name), term});
  return absl::OkStatus();
}

absl::StatusOr<Expression> ExpressionBuilder::Build() const {
  Reachable reachable(terms_);
  std::vector<Result> results = results_;
  for (Result& result : results) {
    reachable.Visit(result.term);
    result.term = reachable.PlaceOf(result.term);
  }
  return Expression(reachable.TakeTerms(), std::move(results));
}

absl::StatusOr<std::vector<TermId>> Inline(
    const Expression& expression, ExpressionBuilder& builder,
    const absl::flat_hash_map<std::string, TermId>& field_terms) {
  std::vector<TermId> placed;
  for (const Term& term : expression.terms()) {
    if (term.kind == Term::Kind::kField) {
      const auto found = field_terms.find(term.name);
      CHECK(found != field_terms.end()) << term.name;
      placed.push_back(found->second);
    } else if (term.kind == Term::Kind::kLiteral) {
      placed.push_back(TRY(builder.Literal(term.literal, term.type.weak)));
    } else {
      std::vector<TermId> operands;
      operands.reserve(term.operands.size());
      for (const TermId operand : term.operands) {
        operands.push_back(placed[static_cast<size_t>(operand)]);
      }
      placed.push_back(TRY(builder.Call(term.name, std::move(operands), term.arguments,
                                        term.call_number)));
    }
  }
  std::vector<TermId> results;
  for (const Result& result : expression.results()) {
    results.push_back(placed[static_cast<size_t>(result.term)]);
  }
  return results;
}

}  // namespace millrace::ir
