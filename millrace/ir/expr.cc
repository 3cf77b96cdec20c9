#include "millrace/ir/expr.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/spec.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

// What a function did so far, and the first thing that went wrong.
class Trace {
 public:
  Trace(const Catalog& catalog, const core::Spec& input, int64_t next_call_number)
      : catalog_(catalog),
        next_call_number_(next_call_number),
        builder_(catalog, input, next_call_number) {}

  Row row() { return Row(this); }

  Rng rng() { return Rng(this); }

  Expr Field(std::string_view name) { return Keep(builder_.Field(name)); }

  Expr Call(std::string_view kernel, const std::vector<Expr>& operands,
            const Arguments& arguments) {
    std::vector<TermId> terms;
    terms.reserve(operands.size());
    for (const Expr& operand : operands) terms.push_back(TermOf(operand));
    if (!status_.ok()) return {this, TermId{}};
    return Keep(builder_.Call(kernel, std::move(terms), arguments));
  }

  void AddResult(std::string_view name, const Expr& result) {
    const TermId term = TermOf(result);
    if (status_.ok()) status_ = builder_.AddResult(name, term);
  }

  absl::StatusOr<Expression> Finish() const {
    TRY(status_);
    return Renumbered(TRY(builder_.Build()));
  }

  // The lambda that the operands belong to.
  static Trace* Of(const std::vector<Expr>& operands) {
    for (const Expr& operand : operands) {
      if (operand.trace_ != nullptr) return operand.trace_;
    }
    CHECK(false) << "only constants: nothing depends on the row";
    return nullptr;
  }

 private:
  Expr Keep(absl::StatusOr<TermId> term) {
    if (term.ok()) return {this, *term};
    if (status_.ok()) status_ = term.status();
    return {this, TermId{}};
  }

  TermId TermOf(const Expr& value) {
    if (value.trace_ == nullptr) {
      return Keep(builder_.Literal(value.constant_, value.weak_)).term_;
    }
    CHECK(value.trace_ == this) << "a value of another row function is used";
    return value.term_;
  }

  // C++ does not say which operand of a + b is evaluated first, so draws are numbered
  // by where they stand in the result: the same by every compiler.
  absl::StatusOr<Expression> Renumbered(const Expression& traced) const {
    ExpressionBuilder builder(catalog_, builder_.input(), next_call_number_);
    for (const Term& term : traced.terms()) {
      // A term comes after its operands, so it gets the place that it had.
      if (term.kind == Term::Kind::kField) {
        TRY(builder.Field(term.name));
      } else if (term.kind == Term::Kind::kLiteral) {
        TRY(builder.Literal(term.literal, term.type.weak));
      } else {
        TRY(builder.Call(term.name, term.operands, term.arguments));
      }
    }
    for (const Result& result : traced.results()) {
      TRY(builder.AddResult(result.name, result.term));
    }
    return builder.Build();
  }

  const Catalog& catalog_;
  const int64_t next_call_number_;
  ExpressionBuilder builder_;
  absl::Status status_;
};

Expr Call(std::string_view kernel, const std::vector<Expr>& operands,
          const Arguments& arguments) {
  return Trace::Of(operands)->Call(kernel, operands, arguments);
}

Expr Expr::operator[](const Expr& index) const { return Call("at", {*this, index}); }

Expr Expr::Slice(Value start, Value stop) const {
  return Call("slice", {*this},
              {{"start", std::move(start)}, {"stop", std::move(stop)}});
}

Expr operator-(const Expr& a) { return Call("negate", {a}); }

Expr operator!(const Expr& a) { return Call("not", {a}); }

Expr operator+(const Expr& a, const Expr& b) { return Call("add", {a, b}); }

Expr operator-(const Expr& a, const Expr& b) { return Call("subtract", {a, b}); }

Expr operator*(const Expr& a, const Expr& b) { return Call("multiply", {a, b}); }

Expr operator/(const Expr& a, const Expr& b) { return Call("divide", {a, b}); }

Expr operator%(const Expr& a, const Expr& b) { return Call("modulo", {a, b}); }

Expr operator==(const Expr& a, const Expr& b) { return Call("equal", {a, b}); }

Expr operator!=(const Expr& a, const Expr& b) { return Call("not_equal", {a, b}); }

Expr operator<(const Expr& a, const Expr& b) { return Call("less", {a, b}); }

Expr operator<=(const Expr& a, const Expr& b) { return Call("less_equal", {a, b}); }

Expr operator>(const Expr& a, const Expr& b) { return Call("greater", {a, b}); }

Expr operator>=(const Expr& a, const Expr& b) { return Call("greater_equal", {a, b}); }

Expr operator&&(const Expr& a, const Expr& b) { return Call("and", {a, b}); }

Expr operator||(const Expr& a, const Expr& b) { return Call("or", {a, b}); }

Expr Row::operator[](std::string_view field) const { return trace_->Field(field); }

Expr Rng::Uniform(const Expr& low, const Expr& high) const {
  return trace_->Call("uniform", {low, high}, {});
}

Expr Rng::Integers(const Expr& low, const Expr& high) const {
  return trace_->Call("integers", {low, high}, {});
}

Expr Rng::Normal(const Expr& mean, const Expr& deviation) const {
  return trace_->Call("normal", {mean, deviation}, {});
}

absl::StatusOr<Expression> TraceRow(const Catalog& catalog, const core::Spec& input,
                                    int64_t next_call_number,
                                    const RowFunction& function) {
  Trace trace(catalog, input, next_call_number);
  for (const auto& [name, result] : function(trace.row(), trace.rng())) {
    trace.AddResult(name, result);
  }
  return trace.Finish();
}

absl::StatusOr<Expression> TraceValue(const Catalog& catalog, const core::Spec& input,
                                      int64_t next_call_number,
                                      const ValueFunction& function) {
  Trace trace(catalog, input, next_call_number);
  trace.AddResult("", function(trace.row(), trace.rng()));
  return trace.Finish();
}

}  // namespace millrace::ir
