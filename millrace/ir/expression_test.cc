#include "millrace/ir/expression.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"
#include "millrace/ir/type.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::IsEmpty;

Expression Parsed(std::string_view text, const Catalog& catalog = TestCatalog()) {
  auto expression = ParseExpression(text, TestRow(), catalog);
  CHECK(expression.ok()) << expression.status();
  return *std::move(expression);
}

// The test catalog with one kernel's version raised.
Catalog WithVersion(std::string_view kernel, int version) {
  Catalog changed;
  for (const auto& [name, schema] : TestCatalog().kernels()) {
    KernelSchema copy = schema;
    if (name == kernel) copy.version = version;
    changed.Add(std::move(copy));
  }
  return changed;
}

TEST(ExpressionTest, TermsStandAfterTheirOperands) {
  const Expression expression = Parsed("{p: (.a + .b) * .a, q: -.b}");
  for (size_t i = 0; i < expression.terms().size(); ++i) {
    for (const TermId operand : expression.terms()[i].operands) {
      EXPECT_LT(static_cast<size_t>(operand), i);
    }
  }
  EXPECT_EQ(expression.terms().size(), 5);
}

TEST(ExpressionTest, GivesARowOrAValue) {
  EXPECT_FALSE(Parsed("{.a}").gives_row());
  EXPECT_TRUE(Parsed("{x: .a}").gives_row());
  EXPECT_TRUE(Parsed("{x: .a, y: .b}").gives_row());
  EXPECT_TRUE(Parsed("{}").gives_row());
}

TEST(ExpressionTest, KnowsTheTypesOfItsResults) {
  const Expression expression = Parsed("{p: .u + 1, q: .x / 2, r: .a == .b}");
  const auto type = [&](int i) { return expression.type_of(expression.results()[i]); };
  EXPECT_EQ(type(0), (ValueType{core::DType::kUint8, {}}));
  EXPECT_EQ(type(1), (ValueType{core::DType::kFloat32, {}}));
  EXPECT_EQ(type(2), (ValueType{core::DType::kBool, {}}));
}

TEST(ExpressionTest, NamesEachFieldItReadsOnce) {
  EXPECT_THAT(Parsed("{p: .b + .a * .b, q: .a}").FieldsRead(), ElementsAre("b", "a"));
  EXPECT_THAT(Parsed("{p: 1}").FieldsRead(), IsEmpty());
  EXPECT_THAT(Parsed("{p: .\"odd name\"}").FieldsRead(), ElementsAre("odd name"));
}

TEST(ExpressionTest, KnowsWhetherItDraws) {
  EXPECT_FALSE(Parsed("{.a + 1}").IsRandom());
  EXPECT_EQ(Parsed("{.a + 1}").NextCallNumber(), 0);
  EXPECT_TRUE(Parsed("{uniform(0, 1)}").IsRandom());
  EXPECT_EQ(Parsed("{uniform(0, 1)}").NextCallNumber(), 1);
  EXPECT_EQ(Parsed("{uniform#7(0, 1) + uniform#3(0, 1)}").NextCallNumber(), 8);
}

TEST(ExpressionTest, KnowsWhichTermsCanFail) {
  const auto last_can_fail = [](std::string_view text) {
    const Expression expression = Parsed(text);
    return expression.CanFail(expression.terms().back());
  };
  EXPECT_FALSE(last_can_fail("{.a}"));
  EXPECT_FALSE(last_can_fail("{.a + 1}"));
  EXPECT_TRUE(last_can_fail("{.a / .b}"));
  EXPECT_TRUE(last_can_fail("{.image[0]}"));
  EXPECT_FALSE(last_can_fail("{(.a / .b) + 1}"));       // The term itself cannot.
  EXPECT_TRUE(last_can_fail("{.image[1:]}"));           // A size is not known.
  EXPECT_FALSE(last_can_fail("{int64[1, 2, 3][1:]}"));  // All sizes are known.
}

TEST(ExpressionTest, DividingByALiteralOtherThanZeroCannotFail) {
  for (const std::string_view text : {"{.a // 1}", "{.a // 127}", "{.a // 3i64}"}) {
    EXPECT_FALSE(Parsed(text).CanFail()) << text;
  }
  // What may be 0, or become so where the literal gives way to a smaller type.
  for (const std::string_view text :
       {"{.a // 0}", "{.a // 128}", "{.a // 256}", "{.a // .b}", "{.a // (.b + 1)}",
        "{1 // .a}", "{.a // int64[1, 0]}", "{.image // 2}"}) {
    EXPECT_TRUE(Parsed(text).CanFail()) << text;
  }
}

TEST(ExpressionTest, CanFailWhereAnyTermCan) {
  EXPECT_TRUE(Parsed("{(.a / .b) + 1}").CanFail());
  EXPECT_FALSE(Parsed("{.a + 1}").CanFail());
}

TEST(ExpressionTest, ComparesByContent) {
  EXPECT_EQ(Parsed("{.a + 1}"), Parsed("{ .a+1 }"));
  EXPECT_EQ(Parsed("{$0 = .a * 2; $0 + $0}"), Parsed("{.a * 2 + .a * 2}"));
  for (const std::string_view other :
       {"{.b + 1}", "{.a + 2}", "{.a + 1i64}", "{.a + 1.0}", "{.a - 1}", "{1 + .a}",
        "{x: .a + 1}", "{.a + 1u8}", "{.a + true}"}) {
    EXPECT_FALSE(Parsed("{.a + 1}") == Parsed(other)) << other;
  }
  EXPECT_FALSE(Parsed("{x: .a, y: .b}") == Parsed("{y: .b, x: .a}"));
  EXPECT_FALSE(Parsed("{uniform#0(0, 1)}") == Parsed("{uniform#1(0, 1)}"));
  EXPECT_FALSE(Parsed("{.image[1:2]}") == Parsed("{.image[1:3]}"));
}

TEST(ExpressionTest, EqualExpressionsHaveEqualFingerprints) {
  const std::vector<std::string_view> texts = {"{.a}",
                                               "{.b}",
                                               "{x: .a}",
                                               "{y: .a}",
                                               "{.a + 1}",
                                               "{.a + 2}",
                                               "{.a + 1i64}",
                                               "{.a + 1.0}",
                                               "{.a - 1}",
                                               "{1 - .a}",
                                               "{-.a}",
                                               "{.name == \"x\"}",
                                               "{.raw == b\"x\"}",
                                               "{.name == b\"x\"}",
                                               "{.y + 0.0}",
                                               "{.y + -0.0}",
                                               "{.y + nan}",
                                               "{.y + inf}",
                                               "{.x + 1f32}",
                                               "{.x + 1f16}",
                                               "{.image[0]}",
                                               "{.image[1]}",
                                               "{.image[0:]}",
                                               "{.image[:0]}",
                                               "{.image[::2]}",
                                               "{uniform#0(0, 1)}",
                                               "{uniform#1(0, 1)}",
                                               "{normal#0(0, 1)}",
                                               "{x: .a, y: .b}",
                                               "{y: .b, x: .a}",
                                               "{x: .a, y: .a}",
                                               "{}",
                                               "{cast(.a, dtype=\"int8\")}",
                                               "{cast(.a, dtype=\"uint8\")}",
                                               "{int64[1, 2]}",
                                               "{int64[[1, 2]]}",
                                               "{int32[1, 2]}",
                                               "{string[\"ab\", \"\"]}",
                                               "{string[\"a\", \"b\"]}",
                                               "{fill(.a, flags=[1])}",
                                               "{fill(.a, mean=[1])}",
                                               "{fill(.a, words=[\"1\"])}",
                                               "{fill(.a, text=\"1\")}",
                                               "{fill(.a, deep=true)}"};
  for (const std::string_view a : texts) {
    for (const std::string_view b : texts) {
      EXPECT_EQ(Parsed(a) == Parsed(b), a == b) << a << " and " << b;
      EXPECT_EQ(Parsed(a).Fingerprint() == Parsed(b).Fingerprint(), a == b)
          << a << " and " << b;
    }
  }
}

TEST(ExpressionTest, TheFingerprintDependsOnTheVersionsOfItsKernels) {
  const Catalog newer = WithVersion("add", 2);
  EXPECT_NE(Parsed("{.a + 1}").Fingerprint(), Parsed("{.a + 1}", newer).Fingerprint());
  EXPECT_EQ(Parsed("{.a - 1}").Fingerprint(), Parsed("{.a - 1}", newer).Fingerprint());
}

// Caches and stored jobs are named by it: it changes only when that is meant.
TEST(ExpressionTest, TheFingerprintStaysAsItWas) {
  EXPECT_EQ(base::ToHex(Parsed("{x: .a * 2 + 1, y: .name == \"b\"}").Fingerprint()),
            "102da078981141d64d33bc39ad4bddc1f53a226fb3103c8f167196a5f2fd78ac");
}

TEST(ExpressionTest, CallNumbersAreBounded) {
  EXPECT_THAT(CheckCallNumber(0), IsOk());
  EXPECT_THAT(CheckCallNumber(kCallNumberMax - 1), IsOk());
  for (const int64_t number : {int64_t{-1}, int64_t{-2}, kCallNumberMax, INT64_MAX}) {
    EXPECT_THAT(CheckCallNumber(number), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  "call numbers go from 0 to 65535"));
  }
}

TEST(ExpressionTest, OperandsThatComeLaterAreAProgrammersError) {
  std::vector<Term> terms(2);
  terms[0].kind = Term::Kind::kCall;
  terms[0].operands = {TermId{1}};
  EXPECT_DEATH(Expression(terms, {}), "operand");
  EXPECT_DEATH(Expression({}, {{"x", TermId{0}}}), "result.term");
}

}  // namespace
}  // namespace millrace::ir
