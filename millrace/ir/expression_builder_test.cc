#include "millrace/ir/expression_builder.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::StatusIs;
using core::BFloat16;
using core::DType;
using core::Float16;
using core::Tensor;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

// A builder over the rows of the test catalog whose steps must succeed.
class Steps {
 public:
  explicit Steps(int64_t next_call_number = 0)
      : builder_(TestCatalog(), TestRow(), next_call_number) {}

  TermId Field(std::string_view name) { return Must(builder_.Field(name)); }

  TermId Weak(int64_t value) {
    return Must(builder_.Literal(Tensor::Scalar(value), true));
  }

  TermId Weak(double value) {
    return Must(builder_.Literal(Tensor::Scalar(value), true));
  }

  TermId Constant(const Tensor& value) { return Must(builder_.Literal(value)); }

  TermId Call(std::string_view kernel, std::vector<TermId> operands,
              const Arguments& arguments = {}, int64_t number = kNoCallNumber) {
    return Must(builder_.Call(kernel, std::move(operands), arguments, number));
  }

  void Result(std::string_view name, TermId term) {
    const absl::Status added = builder_.AddResult(name, term);
    CHECK(added.ok()) << added;
  }

  Expression Build() { return *builder_.Build(); }

  std::string Text() { return PrintExpression(Build()); }

  const ValueType& TypeOf(TermId term) { return builder_.term(term).type; }

  ExpressionBuilder& builder() { return builder_; }

 private:
  static TermId Must(absl::StatusOr<TermId> term) {
    CHECK(term.ok()) << term.status();
    return *term;
  }

  ExpressionBuilder builder_;
};

TEST(ExpressionBuilderTest, EqualTermsAreOne) {
  Steps steps;
  EXPECT_EQ(steps.Field("a"), steps.Field("a"));
  EXPECT_NE(steps.Field("a"), steps.Field("b"));
  EXPECT_EQ(steps.Weak(int64_t{1}), steps.Weak(int64_t{1}));
  EXPECT_NE(steps.Weak(int64_t{1}), steps.Constant(Tensor::Scalar(int64_t{1})));
  const TermId sum = steps.Call("add", {steps.Field("a"), steps.Field("b")});
  EXPECT_EQ(sum, steps.Call("add", {steps.Field("a"), steps.Field("b")}));
  EXPECT_NE(sum, steps.Call("add", {steps.Field("b"), steps.Field("a")}));
  EXPECT_NE(sum, steps.Call("subtract", {steps.Field("a"), steps.Field("b")}));
}

TEST(ExpressionBuilderTest, ArgumentsLeftOutAreTheirDefaults) {
  Steps steps;
  const TermId image = steps.Field("image");
  const TermId index = steps.Weak(int64_t{0});
  EXPECT_EQ(steps.Call("at", {image, index}),
            steps.Call("at", {image, index}, {{"axis", 0}}));
  EXPECT_NE(steps.Call("at", {image, index}),
            steps.Call("at", {image, index}, {{"axis", 1}}));
}

TEST(ExpressionBuilderTest, EqualRandomCallsAreNeverOne) {
  Steps steps;
  const TermId low = steps.Weak(0.0);
  const TermId high = steps.Weak(1.0);
  const TermId first = steps.Call("uniform", {low, high});
  const TermId second = steps.Call("uniform", {low, high});
  EXPECT_NE(first, second);
  steps.Result("", steps.Call("add", {first, second}));
  EXPECT_EQ(steps.Text(), "{uniform#0(0.0, 1.0) + uniform#1(0.0, 1.0)}");
}

TEST(ExpressionBuilderTest, NumbersGoOnFromTheGivenOne) {
  Steps steps(5);
  const TermId zero = steps.Weak(0.0);
  steps.Result("p", steps.Call("uniform", {zero, zero}));
  steps.Result("q", steps.Call("normal", {zero, zero}, {}, 9));
  steps.Result("r", steps.Call("uniform", {zero, zero}));
  steps.Result("s", steps.Call("uniform", {zero, zero}, {}, 2));
  EXPECT_EQ(steps.Text(),
            "{p: uniform#5(0.0, 0.0), q: normal#9(0.0, 0.0), r: uniform#10(0.0, 0.0), "
            "s: uniform#2(0.0, 0.0)}");
}

TEST(ExpressionBuilderTest, OneNumberIsOneCall) {
  Steps steps;
  const TermId zero = steps.Weak(0.0);
  EXPECT_EQ(steps.Call("uniform", {zero, zero}, {}, 3),
            steps.Call("uniform", {zero, zero}, {}, 3));
}

TEST(ExpressionBuilderTest, CallNumbersAreBounded) {
  Steps steps(kCallNumberMax - 1);
  const TermId zero = steps.Weak(0.0);
  ExpressionBuilder& builder = steps.builder();
  EXPECT_THAT(builder.Call("uniform", {zero, zero}), IsOk());
  EXPECT_THAT(builder.Call("uniform", {zero, zero}),
              StatusIs(kWrong, "uniform: call numbers go from 0 to 65535"));
  EXPECT_THAT(builder.Call("uniform", {zero, zero}, {}, kCallNumberMax),
              StatusIs(kWrong, HasSubstr("call numbers go from 0 to 65535")));
  EXPECT_THAT(builder.Call("uniform", {zero, zero}, {}, -2), StatusIs(kWrong));
  EXPECT_THAT(builder.Call("uniform", {zero, zero}, {}, 0), IsOk());
}

TEST(ExpressionBuilderTest, OnlyRandomCallsAreNumbered) {
  Steps steps;
  EXPECT_THAT(steps.builder().Call("negate", {steps.Field("a")}, {}, 3),
              StatusIs(kWrong, "negate: only random kernels are numbered"));
}

TEST(ExpressionBuilderTest, DeadTermsAreDropped) {
  Steps steps;
  steps.Call("multiply", {steps.Field("b"), steps.Weak(int64_t{7})});
  steps.Call("uniform", {steps.Weak(0.0), steps.Weak(1.0)});
  steps.Result("", steps.Call("negate", {steps.Field("a")}));
  EXPECT_EQ(steps.Text(), "{-.a}");
  EXPECT_EQ(steps.Build().terms().size(), 2);
}

TEST(ExpressionBuilderTest, TermsStandInTheOrderInWhichResultsNeedThem) {
  Steps one;
  const TermId a = one.Field("a");
  const TermId b = one.Field("b");
  one.Result("x", one.Call("add", {a, b}));
  one.Result("y", b);
  Steps two;
  const TermId b2 = two.Field("b");
  const TermId a2 = two.Field("a");
  two.Result("x", two.Call("add", {a2, b2}));
  two.Result("y", b2);
  EXPECT_EQ(one.Build(), two.Build());
  EXPECT_EQ(one.Build().Fingerprint(), two.Build().Fingerprint());
  EXPECT_EQ(one.Text(), two.Text());
}

TEST(ExpressionBuilderTest, FieldsHaveTheTypesOfTheRow) {
  Steps steps;
  EXPECT_EQ(steps.TypeOf(steps.Field("u")), (ValueType{DType::kUint8, {}}));
  EXPECT_EQ(steps.TypeOf(steps.Field("image")),
            (ValueType{DType::kUint8, {core::kUnknownSize, 4, 3}}));
  EXPECT_EQ(steps.builder().input(), TestRow());
}

TEST(ExpressionBuilderTest, UnknownFieldsAreNamedWithTheNearest) {
  Steps steps;
  EXPECT_THAT(steps.builder().Field("imgae"),
              StatusIs(kWrong, AllOf(HasSubstr("there is no field imgae"),
                                     HasSubstr("(did you mean image?)"),
                                     HasSubstr("; fields are: a, b, x, y"))));
  ExpressionBuilder empty(TestCatalog(), core::Spec(), 0);
  EXPECT_THAT(empty.Field("x"),
              StatusIs(kWrong, "there is no field x; fields are: none"));
}

TEST(ExpressionBuilderTest, AnErrorAboutManyFieldsStaysShort) {
  std::vector<core::FieldSpec> fields;
  fields.reserve(1000);
  for (int i = 0; i < 1000; ++i) {
    fields.push_back({base::StrCat("field", i), DType::kInt64, {}});
  }
  ExpressionBuilder builder(TestCatalog(), core::Spec(std::move(fields)), 0);
  EXPECT_THAT(builder.Field("x\n" + std::string(100'000, 'y')),
              StatusIs(kWrong, AllOf(HasSubstr("x\\ny"), HasSubstr("field19, ..."),
                                     testing::SizeIs(testing::Lt(500)))));
}

TEST(ExpressionBuilderTest, ConstantsKeepTheirTypeAndWeakness) {
  Steps steps;
  EXPECT_EQ(steps.TypeOf(steps.Weak(int64_t{1})), (ValueType{DType::kInt64, {}, true}));
  EXPECT_EQ(steps.TypeOf(steps.Weak(1.0)), (ValueType{DType::kFloat64, {}, true}));
  EXPECT_EQ(steps.TypeOf(steps.Constant(Tensor::FromValues<float>({1, 2}, {2}))),
            (ValueType{DType::kFloat32, {2}}));
}

TEST(ExpressionBuilderTest, OnlyPlainNumbersAreWeak) {
  Steps steps;
  EXPECT_DEATH((void)steps.builder().Literal(Tensor::Scalar(true), true), "weak");
  EXPECT_DEATH((void)steps.builder().Literal(Tensor::Scalar(1.0F), true), "weak");
  EXPECT_DEATH((void)steps.builder().Literal(Tensor::Text("1"), true), "weak");
  EXPECT_DEATH(
      (void)steps.builder().Literal(Tensor::FromValues<int64_t>({1}, {1}), true),
      "weak");
}

template <typename T>
void ExpectOneNan(uint64_t pattern, T plain) {
  Steps steps;
  T odd;
  std::memcpy(static_cast<void*>(&odd), &pattern, sizeof(T));
  EXPECT_EQ(steps.Constant(Tensor::Scalar(odd)), steps.Constant(Tensor::Scalar(plain)))
      << core::kDTypeOf<T>;
  steps.Result("", steps.Constant(Tensor::Scalar(odd)));
  const Expression built = steps.Build();
  const auto read = ParseExpression(PrintExpression(built), TestRow(), TestCatalog());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, built) << core::kDTypeOf<T>;
  EXPECT_EQ(read->Fingerprint(), built.Fingerprint()) << core::kDTypeOf<T>;
}

TEST(ExpressionBuilderTest, AllNansOfATypeAreOneConstant) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ExpectOneNan<double>(0xFFF8000000000123, std::numeric_limits<double>::quiet_NaN());
  ExpectOneNan<double>(0x7FF0000000000001, std::numeric_limits<double>::quiet_NaN());
  ExpectOneNan<float>(0xFFC00001, nan);
  ExpectOneNan<float>(0x7F800001, nan);
  ExpectOneNan<Float16>(0xFE01, Float16(nan));
  ExpectOneNan<Float16>(0x7C01, Float16(nan));
  ExpectOneNan<BFloat16>(0xFFC1, BFloat16(nan));
  ExpectOneNan<BFloat16>(0x7F81, BFloat16(nan));
}

TEST(ExpressionBuilderTest, ZerosOfBothSignsAreTwoConstants) {
  Steps steps;
  EXPECT_NE(steps.Weak(0.0), steps.Weak(-0.0));
}

TEST(ExpressionBuilderTest, AStringIsValidText) {
  Steps steps;
  EXPECT_THAT(steps.builder().Literal(Tensor::Text("a\xff")),
              StatusIs(kWrong,
                       "a string is not valid UTF-8: \"a\\xff\"; bytes are "
                       "written b\"...\""));
  EXPECT_THAT(steps.builder().Literal(Tensor::FromTexts({"a", "\x80"}, {2})),
              Not(IsOk()));
  EXPECT_THAT(steps.builder().Literal(Tensor::Text("a\xff", DType::kBytes)), IsOk());
}

TEST(ExpressionBuilderTest, KernelsAreCheckedByName) {
  Steps steps;
  EXPECT_THAT(steps.builder().Call("squrt", {steps.Field("x")}),
              StatusIs(kWrong, "there is no kernel squrt (did you mean sqrt?)"));
}

TEST(ExpressionBuilderTest, OperandsAreCounted) {
  Steps steps;
  const TermId x = steps.Field("x");
  EXPECT_THAT(steps.builder().Call("add", {x}),
              StatusIs(kWrong, "add: takes 2 operands, not 1"));
  EXPECT_THAT(steps.builder().Call("sqrt", {x, x}),
              StatusIs(kWrong, "sqrt: takes 1 operand, not 2"));
  EXPECT_THAT(steps.builder().Call("maximum", {}),
              StatusIs(kWrong, "maximum: takes at least 1 operand, not 0"));
  EXPECT_THAT(steps.builder().Call("maximum", std::vector<TermId>(256, x)), IsOk());
  EXPECT_THAT(steps.builder().Call("maximum", std::vector<TermId>(257, x)),
              StatusIs(kWrong, "maximum: takes at most 256 operands, not 257"));
  EXPECT_THAT(steps.builder().Call("add", std::vector<TermId>(1000, x)),
              StatusIs(kWrong, "add: takes 2 operands, not 1000"));
}

TEST(ExpressionBuilderTest, ArgumentsAreChecked) {
  Steps steps;
  EXPECT_THAT(
      steps.builder().Call("cast", {steps.Field("a")}, {{"dtype", "int65"}}),
      StatusIs(kWrong, HasSubstr("cast: argument dtype must be one of bool, int8")));
  EXPECT_THAT(steps.builder().Call("cast", {steps.Field("a")}),
              StatusIs(kWrong, "cast: argument dtype is missing: The type."));
  EXPECT_THAT(steps.builder().Call("sqrt", {steps.Field("x")}, {{"exact", true}}),
              StatusIs(kWrong, HasSubstr("sqrt: there is no argument exact")));
}

TEST(ExpressionBuilderTest, TypesAndShapesAreChecked) {
  Steps steps;
  EXPECT_THAT(steps.builder().Call("add", {steps.Field("a"), steps.Field("name")}),
              StatusIs(kWrong, "add: types do not go together: int64 and string"));
  EXPECT_THAT(steps.builder().Call(
                  "add", {steps.Field("image"),
                          steps.Constant(Tensor::FromValues<uint8_t>({1, 2}, {2}))}),
              StatusIs(kWrong, "add: shapes do not go together: [?, 4, 3] and [2]"));
  EXPECT_THAT(steps.builder().Call("not", {steps.Field("a")}),
              StatusIs(kWrong, "not: needs bools, not int64"));
}

TEST(ExpressionBuilderTest, AnErrorLeavesTheRestUsable) {
  Steps steps;
  EXPECT_THAT(steps.builder().Field("nothing"), Not(IsOk()));
  EXPECT_THAT(steps.builder().Call("add", {steps.Field("a")}), Not(IsOk()));
  steps.Result("", steps.Field("a"));
  EXPECT_EQ(steps.Text(), "{.a}");
}

TEST(ExpressionBuilderTest, PlainNumbersTakeTheTypeTheyMeet) {
  Steps steps;
  const TermId two = steps.Weak(int64_t{2});
  const TermId half = steps.Weak(0.5);
  const auto product = [&](std::string_view field, TermId number) {
    return steps.TypeOf(steps.Call("multiply", {steps.Field(field), number})).dtype;
  };
  EXPECT_EQ(product("u", two), DType::kUint8);
  EXPECT_EQ(product("image", two), DType::kUint8);
  EXPECT_EQ(product("h", two), DType::kFloat16);
  EXPECT_EQ(product("h", half), DType::kFloat16);
  EXPECT_EQ(product("x", half), DType::kFloat32);
  EXPECT_EQ(product("u", half), DType::kFloat64);
  EXPECT_EQ(product("a", half), DType::kFloat64);
  EXPECT_EQ(steps.TypeOf(steps.Call("multiply", {two, half})),
            (ValueType{DType::kFloat64, {}, true}));
}

TEST(ExpressionBuilderTest, PlainIntegersMustFitTheTypeTheyTake) {
  Steps steps;
  const TermId u = steps.Field("u");
  ExpressionBuilder& builder = steps.builder();
  for (const char* kernel : {"add", "multiply", "equal", "less"}) {
    EXPECT_THAT(builder.Call(kernel, {u, steps.Weak(int64_t{255})}), IsOk());
    EXPECT_THAT(builder.Call(kernel, {steps.Weak(int64_t{0}), u}), IsOk());
    EXPECT_THAT(
        builder.Call(kernel, {u, steps.Weak(int64_t{256})}),
        StatusIs(kWrong, base::StrCat(kernel,
                                      ": the number 256 does not fit uint8; give "
                                      "it a type, as in 256i64")));
    EXPECT_THAT(builder.Call(kernel, {steps.Weak(int64_t{-1}), u}),
                StatusIs(kWrong, HasSubstr("the number -1 does not fit uint8")));
  }
}

TEST(ExpressionBuilderTest, FittingDoesNotDependOnTheOrderOfOperands) {
  Steps steps;
  const TermId flag = steps.Field("flag");
  const TermId u = steps.Field("u");
  const TermId large = steps.Weak(int64_t{300});
  ExpressionBuilder& builder = steps.builder();
  EXPECT_THAT(builder.Call("where", {flag, u, large}), StatusIs(kWrong));
  EXPECT_THAT(builder.Call("where", {flag, large, u}),
              StatusIs(kWrong, HasSubstr("where: the number 300 does not fit uint8")));
  EXPECT_THAT(builder.Call("maximum", {large, u}), StatusIs(kWrong));
  EXPECT_THAT(builder.Call("maximum", {large, u, steps.Field("a")}), IsOk());
}

TEST(ExpressionBuilderTest, NumbersThatTakeALargerTypeNeedNotFit) {
  Steps steps;
  const TermId large = steps.Weak(int64_t{300});
  ExpressionBuilder& builder = steps.builder();
  EXPECT_THAT(builder.Call("add", {steps.Field("a"), large}), IsOk());
  EXPECT_THAT(builder.Call("add", {steps.Field("x"), large}), IsOk());
  EXPECT_THAT(builder.Call("equal", {steps.Field("flag"), large}), IsOk());
  EXPECT_THAT(builder.Call("add", {large, large}), IsOk());
  EXPECT_THAT(builder.Call("add", {steps.Field("u"), steps.Weak(300.0)}), IsOk());
  const TermId typed = steps.Constant(Tensor::Scalar(int64_t{300}));
  EXPECT_THAT(builder.Call("add", {steps.Field("u"), typed}), IsOk());
  const TermId uint64 = steps.Call("cast", {steps.Field("u")}, {{"dtype", "uint64"}});
  EXPECT_THAT(builder.Call("add", {uint64, steps.Weak(int64_t{-1})}), StatusIs(kWrong));
}

TEST(ExpressionBuilderTest, ResultsAreNamedOnce) {
  Steps steps;
  const TermId a = steps.Field("a");
  ExpressionBuilder& builder = steps.builder();
  EXPECT_THAT(builder.AddResult("x", a), IsOk());
  EXPECT_THAT(builder.AddResult("x", a), StatusIs(kWrong, "result x is given twice"));
  EXPECT_THAT(builder.AddResult("", a), StatusIs(kWrong, HasSubstr("has no name")));
  EXPECT_THAT(builder.AddResult("y", a), IsOk());
  EXPECT_EQ(steps.Text(), "{x: .a, y: .a}");
}

TEST(ExpressionBuilderTest, AValueStandsAlone) {
  Steps steps;
  const TermId a = steps.Field("a");
  EXPECT_THAT(steps.builder().AddResult("", a), IsOk());
  EXPECT_THAT(steps.builder().AddResult("", a), StatusIs(kWrong));
  EXPECT_THAT(steps.builder().AddResult("x", a), StatusIs(kWrong));
}

TEST(ExpressionBuilderTest, ResultNamesAreFieldNames) {
  Steps steps;
  const TermId a = steps.Field("a");
  ExpressionBuilder& builder = steps.builder();
  for (const std::string_view name : {"a.b", "odd name", "\n", "\"", "gr\xc3\xbc"}) {
    EXPECT_THAT(builder.AddResult(name, a), IsOk()) << name;
  }
  EXPECT_THAT(builder.AddResult(std::string(257, 'x'), a), StatusIs(kWrong));
  EXPECT_THAT(builder.AddResult(".a", a), StatusIs(kWrong));
  EXPECT_THAT(builder.AddResult("a..b", a), StatusIs(kWrong));
  EXPECT_THAT(builder.AddResult("a\xff", a),
              StatusIs(kWrong, "a field's name is not valid UTF-8: a\\xff"));
}

TEST(ExpressionBuilderTest, ResultsAreCounted) {
  Steps steps;
  const TermId a = steps.Field("a");
  for (size_t i = 0; i < kFieldsMax; ++i) steps.Result(base::StrCat("r", i), a);
  EXPECT_THAT(steps.builder().AddResult("more", a),
              StatusIs(kWrong, "expression has more than 4096 results"));
}

TEST(ExpressionBuilderTest, TermsAreCounted) {
  Steps steps;
  TermId chain = steps.Field("a");
  const TermId one = steps.Weak(int64_t{1});
  for (size_t i = 2; i < kTermsMax; ++i) chain = steps.Call("add", {chain, one});
  EXPECT_THAT(steps.builder().Call("add", {chain, one}),
              StatusIs(kWrong, "expression has more than 65536 terms"));
  // What is there already costs nothing.
  EXPECT_THAT(steps.builder().Call("add", {steps.Field("a"), one}), IsOk());
  EXPECT_THAT(steps.builder().Field("b"), StatusIs(kWrong));
  steps.Result("", chain);
  EXPECT_EQ(steps.Build().terms().size(), kTermsMax);
}

TEST(ExpressionBuilderTest, AxesAreCounted) {
  Steps steps;
  TermId x = steps.Field("x");
  for (int i = 0; i < kRankMax; ++i) x = steps.Call("wider", {x});
  EXPECT_THAT(steps.builder().Call("wider", {x}),
              StatusIs(kWrong, "wider: a value has 33 axes, more than 32"));
  const std::vector<int64_t> sizes(33, 1);
  EXPECT_THAT(
      steps.builder().Literal(Tensor::FromValues<float>({1}, core::Shape(sizes))),
      StatusIs(kWrong, "a value has 33 axes, more than 32"));
}

TEST(ExpressionBuilderTest, DeepChainsAreBuiltWithoutDeepCalls) {
  Steps steps;
  TermId chain = steps.Field("a");
  for (int i = 0; i < 60'000; ++i) chain = steps.Call("negate", {chain});
  steps.Result("x", chain);
  EXPECT_EQ(steps.Build().terms().size(), 60'001);
}

TEST(ExpressionBuilderTest, TermsThatAreNotThereAreAProgrammersError) {
  Steps steps;
  EXPECT_DEATH((void)steps.builder().AddResult("x", TermId{0}), "term");
  EXPECT_DEATH((void)steps.builder().Call("negate", {TermId{3}}), "terms_");
  EXPECT_DEATH((void)steps.builder().term(TermId{-1}), "terms_");
}

// --- Inline: one function after another ---

absl::StatusOr<std::string> Composed(std::string_view first, std::string_view second) {
  const Expression inner = TRY(ParseExpression(first, TestRow(), TestCatalog()));
  std::vector<core::FieldSpec> fields;
  for (const Result& result : inner.results()) {
    fields.push_back(
        {result.name, inner.type_of(result).dtype, inner.type_of(result).shape});
  }
  const Expression outer =
      TRY(ParseExpression(second, core::Spec(fields), TestCatalog()));
  ExpressionBuilder builder(TestCatalog(), TestRow(), inner.NextCallNumber());
  absl::flat_hash_map<std::string, TermId> terms;
  const core::Spec row = TestRow();
  for (const core::FieldSpec& field : row.fields()) {
    terms[field.name] = TRY(builder.Field(field.name));
  }
  const std::vector<TermId> made = TRY(Inline(inner, builder, terms));
  terms.clear();
  for (size_t i = 0; i < made.size(); ++i) terms[fields[i].name] = made[i];
  const std::vector<TermId> results = TRY(Inline(outer, builder, terms));
  for (size_t i = 0; i < results.size(); ++i) {
    TRY(builder.AddResult(outer.results()[i].name, results[i]));
  }
  return PrintExpression(TRY(builder.Build()));
}

TEST(ExpressionBuilderTest, AFunctionIsPutAfterAnother) {
  EXPECT_THAT(Composed("{p: .a + 1, q: .b}", "{r: .p * .q}"),
              base::IsOkAndHolds("{r: (.a + 1) * .b}"));
  EXPECT_THAT(Composed("{p: .a + 1}", "{r: .p * .p, s: .p}"),
              base::IsOkAndHolds("{$0 = .a + 1; r: $0 * $0, s: $0}"));
}

TEST(ExpressionBuilderTest, InlinedCallsKeepTheirNumbers) {
  EXPECT_THAT(
      Composed("{p: uniform#4(0.0, 1.0)}", "{r: .p + uniform#9(.p, 2.0)}"),
      base::IsOkAndHolds("{$0 = uniform#4(0.0, 1.0); r: $0 + uniform#9($0, 2.0)}"));
}

TEST(ExpressionBuilderTest, EqualWorkOfBothIsDoneOnce) {
  EXPECT_THAT(Composed("{p: .a * 2, a: .a}", "{r: .p + .a * 2}"),
              base::IsOkAndHolds("{$0 = .a * 2; r: $0 + $0}"));
}

TEST(ExpressionBuilderTest, AFieldThatNobodyGivesIsAProgrammersError) {
  const auto expression = ParseExpression("{.a}", TestRow(), TestCatalog());
  ExpressionBuilder builder(TestCatalog(), TestRow(), 0);
  EXPECT_DEATH((void)Inline(*expression, builder, {}), "a");
}

}  // namespace
}  // namespace millrace::ir
