#include "millrace/ir/expression_parser.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/token_reader.h"
#include "millrace/ir/toy_catalog_test.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using core::DType;
using core::Tensor;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

absl::StatusOr<Expression> Parsed(std::string_view text,
                                  const Attachments& attachments = {}) {
  TokenReader reader = TRY(TokenReader::Open(text));
  const core::Spec row = TestRow();
  return ParseFunction(reader, {TestCatalog(), attachments, row, 0});
}

// The call tree in prefix form: "add(a, negate(b))". Numbers as their tensors print.
std::string Tree(const Expression& expression, TermId id) {
  const Term& term = expression[id];
  if (term.kind == Term::Kind::kField) return term.name;
  if (term.kind == Term::Kind::kLiteral) return term.literal.ToString();
  std::string text = base::StrCat(term.name, "(");
  for (size_t i = 0; i < term.operands.size(); ++i) {
    text += base::StrCat(i == 0 ? "" : ", ", Tree(expression, term.operands[i]));
  }
  return text + ")";
}

// What an expression of one value means.
std::string Meaning(std::string_view text) {
  const absl::StatusOr<Expression> parsed = Parsed(base::StrCat("{", text, "}"));
  if (!parsed.ok()) return std::string(parsed.status().message());
  return Tree(*parsed, parsed->results()[0].term);
}

// The one constant that an expression is.
Tensor ConstantOf(std::string_view text, const Attachments& attachments = {}) {
  const absl::StatusOr<Expression> parsed =
      Parsed(base::StrCat("{", text, "}"), attachments);
  CHECK(parsed.ok()) << parsed.status();
  CHECK_EQ(parsed->terms().size(), 1U);
  return parsed->terms()[0].literal;
}

const Arguments& ArgumentsOf(const Expression& expression) {
  return expression[expression.results()[0].term].arguments;
}

TEST(ExpressionParserTest, ProductsBindTighterThanSums) {
  EXPECT_EQ(Meaning(".a + .b * .a"), "add(a, multiply(b, a))");
  EXPECT_EQ(Meaning(".a * .b + .a"), "add(multiply(a, b), a)");
  EXPECT_EQ(Meaning("(.a + .b) * .a"), "multiply(add(a, b), a)");
  EXPECT_EQ(Meaning(".a - .b // .a % .b"),
            "subtract(a, modulo(floor_divide(b, a), b))");
}

TEST(ExpressionParserTest, EqualsAreTakenFromTheLeft) {
  EXPECT_EQ(Meaning(".a - .b - .a"), "subtract(subtract(a, b), a)");
  EXPECT_EQ(Meaning(".a - (.b - .a)"), "subtract(a, subtract(b, a))");
  EXPECT_EQ(Meaning(".a / .b * .a"), "multiply(divide(a, b), a)");
  EXPECT_EQ(Meaning(".flag or .other or .flag"), "or(or(flag, other), flag)");
}

TEST(ExpressionParserTest, ComparisonsBindLooserThanArithmetic) {
  EXPECT_EQ(Meaning(".a + 1i64 < .b * 2i64"),
            "less(add(a, int64 1), multiply(b, int64 2))");
  EXPECT_EQ(Meaning(".a == .b"), "equal(a, b)");
  EXPECT_EQ(Meaning(".a != .b"), "not_equal(a, b)");
  EXPECT_EQ(Meaning(".a <= .b"), "less_equal(a, b)");
  EXPECT_EQ(Meaning(".a > .b"), "greater(a, b)");
  EXPECT_EQ(Meaning(".a >= .b"), "greater_equal(a, b)");
}

TEST(ExpressionParserTest, LogicBindsLoosest) {
  EXPECT_EQ(Meaning(".flag or .other and not .a == .b"),
            "or(flag, and(other, not(equal(a, b))))");
  EXPECT_EQ(Meaning("not .flag and .other"), "and(not(flag), other)");
  EXPECT_EQ(Meaning("not (.flag and .other)"), "not(and(flag, other))");
  EXPECT_EQ(Meaning("not not .flag"), "not(not(flag))");
  EXPECT_EQ(Meaning("not(.flag)"), "not(flag)");
  EXPECT_EQ(Meaning("and(.flag, .other)"), "and(flag, other)");
}

TEST(ExpressionParserTest, NotReachesOverComparisonsWhereverItStands) {
  EXPECT_EQ(Meaning(".flag == not .other"), "equal(flag, not(other))");
  EXPECT_EQ(Meaning(".flag == not .a == .b"), "equal(flag, not(equal(a, b)))");
}

TEST(ExpressionParserTest, ComparisonsDoNotChain) {
  for (const std::string_view text :
       {".a < .b < .a", ".a == .b == .a", ".a < .b + 1 < .a", "not .a < .b == .flag",
        ".flag and .a < .b < .a"}) {
    EXPECT_THAT(Meaning(text), HasSubstr("expected 'and' between two comparisons"))
        << text;
  }
  EXPECT_EQ(Meaning("(.a < .b) == .flag"), "equal(less(a, b), flag)");
  EXPECT_EQ(Meaning(".flag == (.a < .b)"), "equal(flag, less(a, b))");
  EXPECT_EQ(Meaning(".a < .b and .b < .a"), "and(less(a, b), less(b, a))");
}

TEST(ExpressionParserTest, SignsBindTightly) {
  EXPECT_EQ(Meaning("-.a * .b"), "multiply(negate(a), b)");
  EXPECT_EQ(Meaning("-(.a * .b)"), "negate(multiply(a, b))");
  EXPECT_EQ(Meaning("-.image[0]"), "negate(at(image, int64 0))");
  EXPECT_EQ(Meaning("(-.image)[0]"), "at(negate(image), int64 0)");
  EXPECT_EQ(Meaning("--.a"), "negate(negate(a))");
  EXPECT_EQ(Meaning(".a - -.b"), "subtract(a, negate(b))");
}

TEST(ExpressionParserTest, ASignBeforeANumberIsOfTheNumber) {
  EXPECT_EQ(Meaning("-5"), "int64 -5");
  EXPECT_EQ(Meaning(".a - -5"), "subtract(a, int64 -5)");
  EXPECT_EQ(Meaning(".a -5"), "subtract(a, int64 5)");
  EXPECT_EQ(Meaning("-(5)"), "negate(int64 5)");
  EXPECT_EQ(Meaning("--5"), "negate(int64 -5)");
  EXPECT_EQ(Meaning("-inf"), "float64 -inf");
  EXPECT_EQ(Meaning("-inff16"), "float16 -inf");
  EXPECT_EQ(Meaning("-9223372036854775808"), "int64 -9223372036854775808");
  EXPECT_EQ(Meaning("-0.0"), "float64 -0.0");
}

TEST(ExpressionParserTest, ARemainderNeedsNoBlanks) {
  EXPECT_EQ(Meaning(".a%2"), "modulo(a, int64 2)");
  EXPECT_EQ(Meaning(".a%.b"), "modulo(a, b)");
  EXPECT_EQ(Meaning(".a%sqrt(.b)"), "modulo(a, sqrt(b))");
}

TEST(ExpressionParserTest, FieldsAreReadByNameOrQuoted) {
  EXPECT_EQ(Meaning(".a"), "a");
  EXPECT_EQ(Meaning(".\"a\""), "a");
  EXPECT_EQ(Meaning(".\"odd name\" + .\"path.to.it\""), "add(odd name, path.to.it)");
}

TEST(ExpressionParserTest, IndexingIsACallOfAt) {
  EXPECT_EQ(Meaning(".image[0]"), "at(image, int64 0)");
  EXPECT_EQ(Meaning(".image[-1]"), "at(image, int64 -1)");
  EXPECT_EQ(Meaning(".image[.a + 1]"), "at(image, add(a, int64 1))");
  EXPECT_EQ(Meaning(".image[0][1][2]"), "at(at(at(image, int64 0), int64 1), int64 2)");
  EXPECT_EQ(Meaning("int64[5, 6][0]"), "at(int64[2] [5, 6], int64 0)");
  EXPECT_EQ(Meaning("int64[5, 6][.image[0][0][0]]"),
            "at(int64[2] [5, 6], at(at(at(image, int64 0), int64 0), int64 0))");
}

TEST(ExpressionParserTest, SlicesTakeBounds) {
  const auto bounds = [](std::string_view text) {
    const absl::StatusOr<Expression> parsed = Parsed(base::StrCat("{", text, "}"));
    CHECK(parsed.ok()) << parsed.status();
    return ArgumentsOf(*parsed);
  };
  const auto wanted = [](Value start, Value stop, Value step) {
    return Arguments{{"axis", 0}, {"start", start}, {"stop", stop}, {"step", step}};
  };
  EXPECT_EQ(bounds(".image[1:2]"), wanted(1, 2, 1));
  EXPECT_EQ(bounds(".image[:]"), wanted({}, {}, 1));
  EXPECT_EQ(bounds(".image[1:]"), wanted(1, {}, 1));
  EXPECT_EQ(bounds(".image[:-1]"), wanted({}, -1, 1));
  EXPECT_EQ(bounds(".image[-3:-1]"), wanted(-3, -1, 1));
  EXPECT_EQ(bounds(".image[::2]"), wanted({}, {}, 2));
  EXPECT_EQ(bounds(".image[1::2]"), wanted(1, {}, 2));
  EXPECT_EQ(bounds(".image[:1:2]"), wanted({}, 1, 2));
  EXPECT_EQ(bounds(".image[3:1:-1]"), wanted(3, 1, -1));
  EXPECT_EQ(bounds(".image[::]"), wanted({}, {}, 1));
  EXPECT_EQ(bounds(".image[0:none]"), wanted(0, {}, 1));
}

TEST(ExpressionParserTest, BoundsArePlainIntegers) {
  EXPECT_THAT(Meaning(".image[.a:2]"), HasSubstr("the bounds of a slice are plain"));
  EXPECT_THAT(Meaning(".image[1i64:2]"), HasSubstr("the bounds of a slice are plain"));
  EXPECT_THAT(Meaning(".image[1.0:2]"), HasSubstr("the bounds of a slice are plain"));
  EXPECT_THAT(Meaning(".image[1:.a]"), HasSubstr("expected a value"));
  EXPECT_THAT(Meaning(".image[1:2.5]"),
              HasSubstr("stop must be an integer, not a float"));
  EXPECT_THAT(Meaning(".image[1:2:3:4]"), HasSubstr("expected ']'"));
  EXPECT_THAT(Meaning(".image[]"), HasSubstr("expected an expression"));
  EXPECT_THAT(Meaning(".image[1"), HasSubstr("expected"));
  EXPECT_THAT(Meaning(".image[1,2]"), HasSubstr("expected ':', found ','"));
}

TEST(ExpressionParserTest, AnErrorHasOnePlace) {
  for (const std::string_view text :
       {".image[.nothing]", ".image[1:x]", ".a[0]", ".image[.image[.nothing]]",
        "sqrt(sqrt(.nothing))", "(((.nothing)))", ".a + (.b * .nothing)"}) {
    const std::string message = Meaning(text);
    EXPECT_TRUE(message.starts_with("line 1, column ")) << message;
    EXPECT_EQ(message.find("line", 1), std::string::npos) << message;
  }
}

TEST(ExpressionParserTest, CallsTakeOperandsThenArguments) {
  const absl::StatusOr<Expression> parsed =
      Parsed("{fill(.a, flags=[1, 2], scale=3, text=\"x\", deep=true,)}");
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(ArgumentsOf(*parsed), (Arguments{{"flags", List{1, 2}},
                                             {"mean", List{}},
                                             {"words", List{}},
                                             {"text", "x"},
                                             {"scale", 3.0},
                                             {"deep", true}}));
  EXPECT_THAT(Meaning("fill(deep=true, .a)"), HasSubstr("operands come first"));
  EXPECT_THAT(Meaning("fill(.a, deep=true, deep=true)"), HasSubstr("is given twice"));
  EXPECT_THAT(Meaning("fill(.a, deep=.flag)"), HasSubstr("expected a value"));
  EXPECT_THAT(Meaning("fill(.a deep=true)"), HasSubstr("expected ')'"));
}

TEST(ExpressionParserTest, AWordAloneIsNoField) {
  EXPECT_THAT(Meaning("a + 1"),
              "line 1, column 4: expected '(' after a (fields are "
              "written .a), found '+'");
}

TEST(ExpressionParserTest, NumbersKeepTheirType) {
  EXPECT_EQ(ConstantOf("5"), Tensor::Scalar(int64_t{5}));
  EXPECT_EQ(ConstantOf("5.0"), Tensor::Scalar(5.0));
  EXPECT_EQ(ConstantOf("5u8"), Tensor::Scalar(uint8_t{5}));
  EXPECT_EQ(ConstantOf("-5i8"), Tensor::Scalar(int8_t{-5}));
  EXPECT_EQ(ConstantOf("0.5f32"), Tensor::Scalar(0.5F));
  EXPECT_EQ(ConstantOf("true"), Tensor::Scalar(true));
  EXPECT_EQ(ConstantOf("inf"), Tensor::Scalar(std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(Parsed("{5}")->terms()[0].type.weak);
  EXPECT_FALSE(Parsed("{5i64}")->terms()[0].type.weak);
  EXPECT_FALSE(Parsed("{true}")->terms()[0].type.weak);
}

TEST(ExpressionParserTest, TextsAndBytesAreConstants) {
  EXPECT_EQ(ConstantOf("\"a\\n\""), Tensor::Text("a\n"));
  EXPECT_EQ(ConstantOf("b\"\\xff\""), Tensor::Text("\xff", DType::kBytes));
  EXPECT_THAT(Meaning("\"\\xff\""), HasSubstr("a string is not valid UTF-8"));
  EXPECT_EQ(Meaning("\"a\" == .name"), "equal(string \"a\", name)");
}

TEST(ExpressionParserTest, AnExpressionMayBeginWithAText) {
  EXPECT_THAT(Parsed("{\"a\" == .name}"), IsOk());
  EXPECT_FALSE(Parsed("{\"a\" == .name}")->gives_row());
  EXPECT_FALSE(Parsed("{\"a\"}")->gives_row());
  EXPECT_TRUE(Parsed("{\"a\": \"a\" == .name}")->gives_row());
}

TEST(ExpressionParserTest, ArraysAreTypedLists) {
  EXPECT_EQ(ConstantOf("float32[[1, 2.5], [3, 4]]"),
            Tensor::FromValues<float>({1, 2.5, 3, 4}, {2, 2}));
  EXPECT_EQ(ConstantOf("string[\"a\", \"b\"]"), Tensor::FromTexts({"a", "b"}, {2}));
  EXPECT_EQ(ConstantOf("bytes[b\"a\"]"), Tensor::FromTexts({"a"}, {1}, DType::kBytes));
  EXPECT_EQ(ConstantOf("float32[]"), Tensor::FromValues<float>({}, {0}));
  EXPECT_EQ(ConstantOf("int8[-1]"), Tensor::FromValues<int8_t>({-1}, {1}));
  EXPECT_THAT(Meaning("uint8[1, 300]"),
              "line 1, column 2: an array of uint8 cannot hold 300");
  EXPECT_THAT(Meaning("uint8[[1], [1, 2]]"), HasSubstr("differ in length"));
  EXPECT_THAT(Meaning("uint8[.a]"), HasSubstr("expected a value"));
}

TEST(ExpressionParserTest, ArraysHaveAtMostThirtyTwoAxes) {
  const auto deep = [](int axes) {
    return base::StrCat("int8", std::string(axes, '['), "1", std::string(axes, ']'));
  };
  EXPECT_EQ(ConstantOf(deep(32)).shape().rank(), 32);
  EXPECT_THAT(Meaning(deep(33)), HasSubstr("a value has 33 axes, more than 32"));
}

TEST(ExpressionParserTest, ArraysMayStandBesideTheText) {
  const Tensor array = Tensor::FromValues<float>({1, 2, 3}, {3});
  Attachments attachments;
  attachments.Add(EncodeTensor(array));
  attachments.Add(Attachment("no array"));
  const std::string name = base::ToHex(EncodeTensor(array).hash());
  EXPECT_EQ(ConstantOf(base::StrCat("@", name), attachments), array);
  const auto used_twice = Parsed(
      base::StrCat("{x: @", name, " + @", name, ", y: @", name, "[0]}"), attachments);
  ASSERT_THAT(used_twice, IsOk());
  EXPECT_EQ(used_twice->terms().size(), 4);  // The array, the sum, 0, the place.
  EXPECT_THAT(
      Parsed(base::StrCat("{@", name, "}")),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("attachment is missing")));
  const std::string wrong = base::ToHex(base::Sha256Of("no array"));
  EXPECT_THAT(Parsed(base::StrCat("{@", wrong, "}"), attachments),
              StatusIs(kWrong,
                       "line 1, column 2: attachment is not an array: it has no "
                       "header"));
}

TEST(ExpressionParserTest, LocalsStandForTerms) {
  const absl::StatusOr<Expression> parsed =
      Parsed("{$0 = .a + 1; $7 = $0 * $0; x: $7, y: $0}");
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(Tree(*parsed, parsed->results()[0].term),
            "multiply(add(a, int64 1), add(a, int64 1))");
  EXPECT_EQ(parsed->terms().size(), 4);
}

TEST(ExpressionParserTest, LocalsAreDefinedOnceAndBefore) {
  EXPECT_THAT(Parsed("{$0 = .a; $0 = .b; x: $0}"),
              StatusIs(kWrong, "line 1, column 11: $0 is defined twice"));
  EXPECT_THAT(Parsed("{x: $0}"), StatusIs(kWrong, HasSubstr("a local defined before")));
  EXPECT_THAT(Parsed("{$0 = $0 + 1; x: $0}"), StatusIs(kWrong));
  EXPECT_THAT(Parsed("{$0 = .a x: $0}"), StatusIs(kWrong, HasSubstr("expected ';'")));
  EXPECT_THAT(Parsed("{x: .a; $0 = .b}"), StatusIs(kWrong, HasSubstr("expected '}'")));
}

TEST(ExpressionParserTest, ResultsAreNamedPlainOrQuoted) {
  const auto names = [](std::string_view text) {
    const absl::StatusOr<Expression> parsed = Parsed(text);
    CHECK(parsed.ok()) << parsed.status();
    std::vector<std::string> found;
    for (const Result& result : parsed->results()) found.push_back(result.name);
    return found;
  };
  EXPECT_THAT(names("{x: .a, \"odd name\": .b, not: .flag, nan: .y, true: .x}"),
              ElementsAre("x", "odd name", "not", "nan", "true"));
  EXPECT_THAT(names("{}"), ElementsAre());
}

TEST(ExpressionParserTest, ResultsAreNamedRight) {
  EXPECT_THAT(Parsed("{x: .a, x: .b}"),
              StatusIs(kWrong, "line 1, column 9: result x is given twice"));
  EXPECT_THAT(Parsed("{x: .a, .b}"), StatusIs(kWrong, HasSubstr("has no name")));
  EXPECT_THAT(Parsed("{.a, .b}"), StatusIs(kWrong, HasSubstr("has no name")));
  EXPECT_THAT(Parsed("{\"\": .a}"), StatusIs(kWrong, HasSubstr("not empty")));
  EXPECT_THAT(Parsed("{\"a..b\": .a}"), StatusIs(kWrong, HasSubstr("empty step")));
  EXPECT_THAT(Parsed("{b\"x\": .a}"), StatusIs(kWrong, HasSubstr("expected '}'")));
  EXPECT_THAT(Parsed("{x: .a,}"),
              StatusIs(kWrong, HasSubstr("expected an expression")));
}

TEST(ExpressionParserTest, RandomCallsAreNumberedInOrder) {
  const absl::StatusOr<Expression> parsed =
      Parsed("{x: uniform(0, 1) + uniform(0, 1), y: normal#9(0, 1), z: uniform(0, 1)}");
  ASSERT_THAT(parsed, IsOk());
  std::vector<int64_t> numbers;
  for (const Term& term : parsed->terms()) {
    if (term.call_number != kNoCallNumber) numbers.push_back(term.call_number);
  }
  EXPECT_THAT(numbers, ElementsAre(0, 1, 9, 10));
  EXPECT_THAT(Meaning("sqrt#1(.x)"),
              HasSubstr("sqrt: only random kernels are numbered"));
  EXPECT_THAT(Meaning("uniform#65536(0, 1)"), HasSubstr("call numbers go from 0"));
}

TEST(ExpressionParserTest, UnfinishedTextIsAnError) {
  const std::string_view whole =
      "{$0 = .a * -2; x: fill($0, flags=[1, 2]), \"y z\": .image[1:2][.b] == 3u8}";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(Parsed(whole.substr(0, size)), StatusIs(kWrong)) << size;
  }
  EXPECT_THAT(Parsed(whole), IsOk());
}

TEST(ExpressionParserTest, NestingIsBounded) {
  const auto repeated = [](std::string_view before, int times, std::string_view core,
                           std::string_view after) {
    std::string text = "{";
    for (int i = 0; i < times; ++i) text += before;
    text += core;
    for (int i = 0; i < times; ++i) text += after;
    return text + "}";
  };
  EXPECT_THAT(Parsed(repeated("(", 90, ".a", ")")), IsOk());
  EXPECT_THAT(Parsed(repeated("not ", 90, ".flag", "")), IsOk());
  EXPECT_THAT(Parsed(repeated("-", 90, ".a", "")), IsOk());
  for (const std::string& text :
       {repeated("(", 100'000, ".a", ")"), repeated("not ", 100'000, ".flag", ""),
        repeated("-", 100'000, ".a", ""), repeated("sqrt(", 100'000, ".x", ")"),
        repeated(".image[", 100'000, "0", "]"), repeated("-(", 100'000, ".a", ")"),
        repeated(".a + (", 100'000, ".a", ")")}) {
    EXPECT_THAT(Parsed(text), StatusIs(kWrong, AllOf(HasSubstr("expected less nesting"),
                                                     HasSubstr("line 1, column "))));
  }
}

}  // namespace
}  // namespace millrace::ir
