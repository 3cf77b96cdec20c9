// Row functions written in C++: a lambda over a Row is called once, records what it
// does, and becomes an expression.
//
//   [](Row row, Rng rng) {
//     Expr x = row["value"] * 2 + 1;
//     return Fields{{"x", x}, {"noise", rng.Uniform(0.0, 1.0)}};
//   }
//
// The first mistake (an unknown field, types that do not go together) is kept and comes
// out at the end; until then the lambda goes on with values that stand for nothing. An
// Expr is valid only inside the lambda it came from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

class Trace;

class Expr {
 public:
  // Constants. Plain numbers are weak: they take the type of what they meet.
  Expr(int value) : Expr(int64_t{value}) {}

  Expr(int64_t value) : constant_(core::Tensor::Scalar(value)), weak_(true) {}

  Expr(double value) : constant_(core::Tensor::Scalar(value)), weak_(true) {}

  Expr(bool value) : constant_(core::Tensor::Scalar(value)) {}

  Expr(const char* value) : constant_(core::Tensor::Text(value)) {}

  Expr(core::Tensor value) : constant_(std::move(value)) {}

  // x[i], and x[start:stop] along the first axis.
  Expr operator[](const Expr& index) const;
  Expr Slice(Value start, Value stop) const;

  friend Expr operator-(const Expr& a);
  friend Expr operator!(const Expr& a);
  friend Expr operator+(const Expr& a, const Expr& b);
  friend Expr operator-(const Expr& a, const Expr& b);
  friend Expr operator*(const Expr& a, const Expr& b);
  friend Expr operator/(const Expr& a, const Expr& b);
  friend Expr operator%(const Expr& a, const Expr& b);
  friend Expr operator==(const Expr& a, const Expr& b);
  friend Expr operator!=(const Expr& a, const Expr& b);
  friend Expr operator<(const Expr& a, const Expr& b);
  friend Expr operator<=(const Expr& a, const Expr& b);
  friend Expr operator>(const Expr& a, const Expr& b);
  friend Expr operator>=(const Expr& a, const Expr& b);
  friend Expr operator&&(const Expr& a, const Expr& b);
  friend Expr operator||(const Expr& a, const Expr& b);

 private:
  friend class Trace;

  Expr(Trace* trace, TermId term) : trace_(trace), term_(term) {}

  Trace* trace_ = nullptr;  // Null for constants, which belong to no lambda yet.
  TermId term_ = {};
  core::Tensor constant_;
  bool weak_ = false;
};

// Calls any kernel by name. Requires: an operand that is not a constant.
Expr Call(std::string_view kernel, const std::vector<Expr>& operands,
          const Arguments& arguments = {});

// The row that a function is called with.
class Row {
 public:
  Expr operator[](std::string_view field) const;

 private:
  friend class Trace;

  explicit Row(Trace* trace) : trace_(trace) {}

  Trace* trace_;
};

// The row's own random numbers. Every call in the source text draws anew. Draws are
// numbered in the order in which the results use them.
class Rng {
 public:
  Expr Uniform(const Expr& low, const Expr& high) const;   // float64 in [low, high)
  Expr Integers(const Expr& low, const Expr& high) const;  // int64 in [low, high)
  Expr Normal(const Expr& mean, const Expr& deviation) const;

 private:
  friend class Trace;

  explicit Rng(Trace* trace) : trace_(trace) {}

  Trace* trace_;
};

using Fields = std::vector<std::pair<std::string, Expr>>;
using RowFunction = std::function<Fields(Row, Rng)>;
using ValueFunction = std::function<Expr(Row, Rng)>;

// Calls the function once and gives what it did, as an expression over rows of `input`.
absl::StatusOr<Expression> TraceRow(const Catalog& catalog, const core::Spec& input,
                                    int64_t next_call_number,
                                    const RowFunction& function);
absl::StatusOr<Expression> TraceValue(const Catalog& catalog, const core::Spec& input,
                                      int64_t next_call_number,
                                      const ValueFunction& function);

}  // namespace millrace::ir
