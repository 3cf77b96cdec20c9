// Random, well-typed expressions and pipelines over the test catalog, for the tests
// that hold for all of them. The same seed gives the same ones. Test support only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/toy_catalog_test.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

// Draws what random expressions are made of.
class RandomParts {
 public:
  explicit RandomParts(uint64_t seed) : generator_(base::RandomKey(seed, 0, 0), {}) {}

  int64_t Below(int64_t end) { return generator_.Integer(0, end); }

  bool Chance(double of) { return generator_.Uniform() < of; }

  template <typename T>
  const T& OneOf(absl::Span<const T> items) {
    return items[Below(static_cast<int64_t>(items.size()))];
  }

  // Any bytes; of a string, any characters.
  std::string Text(core::DType dtype) {
    std::string text;
    for (int64_t left = Chance(0.02) ? 2000 : Below(12); left > 0; --left) {
      if (dtype == core::DType::kBytes) {
        text += static_cast<char>(Below(256));
      } else {
        text += Chance(0.8) ? std::string(1, static_cast<char>(Below(128)))
                            : std::string("\xc3\xbc");
      }
    }
    return text;
  }

  // A number of any type, as often as not an odd one.
  core::Tensor Scalar(core::DType dtype) { return Array(dtype, {}); }

  core::Tensor Array(core::DType dtype, const core::Shape& shape) {
    const int64_t count = shape.Count();
    if (core::IsVariable(dtype)) {
      std::vector<std::string> texts;
      texts.reserve(count);
      for (int64_t i = 0; i < count; ++i) texts.push_back(Text(dtype));
      return core::Tensor::FromTexts(texts, shape, dtype);
    }
    return core::VisitDType(dtype, [&]<typename T>() {
      const auto values = std::make_unique<T[]>(count);
      for (int64_t i = 0; i < count; ++i) values[i] = Number<T>();
      return core::Tensor::FromValues<T>(absl::MakeConstSpan(values.get(), count),
                                         shape);
    });
  }

  core::DType AnyType() { return OneOf<core::DType>(core::kAllDTypes); }

 private:
  template <typename T>
  T Number() {
    const uint64_t bits = generator_.Next64();
    if constexpr (std::is_same_v<T, bool>) {
      return (bits & 1) != 0;
    } else if constexpr (std::is_integral_v<T>) {
      if (Chance(0.2)) return std::numeric_limits<T>::min();
      if (Chance(0.2)) return std::numeric_limits<T>::max();
      return static_cast<T>(bits);
    } else if constexpr (std::is_same_v<T, double>) {
      return Chance(0.5) ? Odd() : std::bit_cast<double>(bits);
    } else if constexpr (std::is_same_v<T, float>) {
      return Chance(0.5) ? static_cast<float>(Odd())
                         : std::bit_cast<float>(static_cast<uint32_t>(bits));
    } else {
      T value;
      value.bits = static_cast<uint16_t>(bits);
      return Chance(0.5) ? T(static_cast<float>(Odd())) : value;
    }
  }

  double Odd() {
    static constexpr double kOdd[] = {0.0,
                                      -0.0,
                                      1.0,
                                      -1.5,
                                      0.1,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN()};
    return OneOf<double>(kOdd);
  }

  base::Generator generator_;
};

// Grows an expression term by term from what is there; what does not type is left out.
class RandomExpression {
 public:
  RandomExpression(const core::Spec& input, int64_t next_call_number, uint64_t seed)
      : parts_(seed), builder_(TestCatalog(), input, next_call_number) {
    for (const core::FieldSpec& field : input.fields())
      Keep(builder_.Field(field.name));
    Keep(builder_.Literal(core::Tensor::Scalar(int64_t{1}), true));
  }

  Expression Row(int64_t steps) {
    for (int64_t i = 0; i < steps; ++i) Step();
    const int64_t results = 1 + parts_.Below(4);
    for (int64_t i = 0; i < results; ++i) {
      CHECK(builder_.AddResult(ResultName(i), Recent()).ok());
    }
    return *builder_.Build();
  }

  // One bool for each row.
  Expression Predicate(int64_t steps) {
    for (int64_t i = 0; i < steps; ++i) Step();
    for (int tries = 0; tries < 200; ++tries) {
      const TermId a = Any();
      const absl::StatusOr<TermId> met = builder_.Call("less", {a, a});
      if (!met.ok() || !builder_.term(*met).type.shape.is_scalar()) continue;
      CHECK(builder_.AddResult("", *met).ok());
      return *builder_.Build();
    }
    const absl::StatusOr<TermId> yes = builder_.Literal(core::Tensor::Scalar(true));
    CHECK(builder_.AddResult("", *yes).ok());
    return *builder_.Build();
  }

 private:
  void Keep(const absl::StatusOr<TermId>& term) {
    if (term.ok()) terms_.push_back(*term);
  }

  TermId Any() { return parts_.OneOf<TermId>(terms_); }

  // One of the last, so that expressions become deep; terms are shared all the same.
  TermId Recent() {
    const auto size = static_cast<int64_t>(terms_.size());
    return parts_.Chance(0.3) ? Any() : terms_[size - 1 - parts_.Below(size) / 4];
  }

  void Step() {
    switch (parts_.Below(8)) {
      case 0:
        return AddConstant();
      case 1:
        return AddUnary();
      case 2:
        return AddIndex();
      case 3:
        return AddOther();
      default:
        return AddBinary();
    }
  }

  void AddConstant() {
    if (parts_.Chance(0.3)) {
      return Keep(builder_.Literal(parts_.Scalar(core::DType::kInt64), true));
    }
    if (parts_.Chance(0.3)) {
      return Keep(builder_.Literal(parts_.Scalar(core::DType::kFloat64), true));
    }
    if (parts_.Chance(0.5))
      return Keep(builder_.Literal(parts_.Scalar(parts_.AnyType())));
    const core::Shape shapes[] = {{0}, {3}, {2, 1, 3}, {40}};
    Keep(builder_.Literal(
        parts_.Array(parts_.AnyType(), parts_.OneOf<core::Shape>(shapes))));
  }

  void AddUnary() {
    static constexpr const char* kKernels[] = {"not", "negate", "negate", "sqrt",
                                               "wider"};
    Keep(builder_.Call(parts_.OneOf<const char*>(kKernels), {Recent()}));
  }

  void AddBinary() {
    static constexpr const char* kKernels[] = {
        "add",   "subtract",  "multiply", "divide",        "floor_divide", "modulo",
        "equal", "not_equal", "less",     "greater_equal", "and",          "or"};
    Keep(builder_.Call(parts_.OneOf<const char*>(kKernels), {Recent(), Recent()}));
  }

  void AddIndex() {
    if (parts_.Chance(0.5)) {
      return Keep(builder_.Call("at", {Recent(), Any()}, {{"axis", parts_.Below(2)}}));
    }
    const auto bound = [&]() -> Value {
      return parts_.Chance(0.5) ? Value() : Value(parts_.Below(9) - 4);
    };
    Keep(builder_.Call("slice", {Recent()},
                       {{"axis", parts_.Below(5) / 4},
                        {"start", bound()},
                        {"stop", bound()},
                        {"step", parts_.Chance(0.5) ? 1 : parts_.Below(5) - 2}}));
  }

  void AddOther() {
    switch (parts_.Below(5)) {
      case 0:
        return Keep(builder_.Call("uniform", {Any(), Any()}));
      case 1:
        return Keep(builder_.Call("where", {Any(), Recent(), Recent()}));
      case 2:
        return Keep(builder_.Call("maximum", {Any(), Recent(), Any()}));
      case 3:
        return Keep(
            builder_.Call("cast", {Recent()},
                          {{"dtype", std::string(core::Name(parts_.AnyType()))}}));
      default:
        return Keep(builder_.Call(
            "fill", {Recent()},
            {{"flags", List{parts_.Below(9), -parts_.Below(9)}},
             {"mean", List{0.5, parts_.Scalar(core::DType::kFloat64).As<double>()[0]}},
             {"words", List{parts_.Text(core::DType::kBytes), ""}},
             {"text", parts_.Text(core::DType::kString)}}));
    }
  }

  std::string ResultName(int64_t i) {
    static constexpr const char* kOdd[] = {"odd name", "p.q",        "\"",
                                           "\n",       "gr\xc3\xbc", "9"};
    std::string name = parts_.Chance(0.7) ? "r" : parts_.OneOf<const char*>(kOdd);
    return name + base::StrCat(i);
  }

  RandomParts parts_;
  ExpressionBuilder builder_;
  std::vector<TermId> terms_;
};

// A few operators, with branches that join.
inline Pipeline RandomPipeline(uint64_t seed) {
  RandomParts parts(seed);
  const auto make = [](const char* name, const Arguments& arguments,
                       std::vector<Pipeline> inputs) {
    absl::StatusOr<Pipeline> made =
        Pipeline::Make(TestCatalog(), name, arguments, std::move(inputs));
    CHECK(made.ok()) << made.status();
    return *std::move(made);
  };
  const auto function = [](Expression expression) {
    return Value(std::make_shared<const Expression>(std::move(expression)));
  };
  std::vector<Pipeline> made = {
      make("rows", {}, {}), make("range", {{"stop", parts.Below(1000)}}, {}),
      make("from_bytes", {{"content", Attachment(parts.Text(core::DType::kBytes))}},
           {})};
  const int64_t operators = 2 + parts.Below(8);
  for (int64_t i = 0; i < operators; ++i) {
    const Pipeline input =
        parts.Chance(0.7) ? made.back() : parts.OneOf<Pipeline>(made);
    RandomExpression random(input.spec(), input.NextCallNumber(), seed * 100 + i);
    const Value seed_value = parts.Chance(0.5) ? Value() : Value(parts.Below(100));
    switch (parts.Below(5)) {
      case 0:
        made.push_back(make("shuffle",
                            {{"window", 1 + parts.Below(9)}, {"seed", seed_value}},
                            {input}));
        break;
      case 1:
        made.push_back(make("batch", {{"size", 1 + parts.Below(9)}}, {input}));
        break;
      case 2:
        made.push_back(make("filter",
                            {{"predicate", function(random.Predicate(parts.Below(30)))},
                             {"seed", seed_value}},
                            {input}));
        break;
      case 3:
        made.push_back(make("zip", {}, {input, parts.OneOf<Pipeline>(made)}));
        break;
      default:
        made.push_back(make(
            "map",
            {{"function", function(random.Row(parts.Below(40)))}, {"seed", seed_value}},
            {input}));
    }
  }
  return made.back();
}

}  // namespace millrace::ir
