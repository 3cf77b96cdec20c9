#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using core::DType;
using core::Tensor;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// The canonical text of an expression.
std::string Printed(std::string_view text, const PrintOptions& options = {}) {
  const auto expression = ParseExpression(text, TestRow(), TestCatalog());
  CHECK(expression.ok()) << expression.status();
  return PrintExpression(*expression, options);
}

Pipeline Parsed(std::string_view text, const Attachments& attachments = {}) {
  auto pipeline = Parse(text, attachments, TestCatalog());
  CHECK(pipeline.ok()) << pipeline.status();
  return *std::move(pipeline);
}

// Texts that are already as they are printed.
void ExpectCanonical(const std::vector<std::string_view>& texts) {
  for (const std::string_view text : texts) EXPECT_EQ(Printed(text), text);
}

TEST(PrinterTest, ParenthesesStandOnlyWhereTheyAreNeeded) {
  EXPECT_EQ(Printed("{((.a) + (.b * (.a)))}"), "{.a + .b * .a}");
  EXPECT_EQ(Printed("{(.a - .b) - .a}"), "{.a - .b - .a}");
  EXPECT_EQ(Printed("{((.flag) and (.a == .b)) or (not (.other))}"),
            "{.flag and .a == .b or not .other}");
  ExpectCanonical({"{(.a + .b) * .a}", "{.a - (.b - .a)}", "{.a * (.b * .a)}",
                   "{.a / (.b / .a)}", "{(.flag or .other) and .flag}",
                   "{.flag or (.other or .flag)}", "{not (.flag and .other)}",
                   "{.a // .b % .a}", "{.a // (.b % .a)}"});
}

TEST(PrinterTest, ComparisonsOfComparisonsKeepTheirParentheses) {
  ExpectCanonical({"{(.a < .b) == .flag}", "{.flag == (.a < .b)}",
                   "{(.a == .b) == (.b == .a)}", "{.a + 1 < .b * 2}",
                   "{(.a < .b) != (.flag and .other)}"});
}

TEST(PrinterTest, NotInsideOtherOperatorsKeepsItsParentheses) {
  ExpectCanonical({"{(not .flag) == .other}", "{.flag == (not .other)}",
                   "{not .flag == .other}", "{not not .flag}", "{not .flag and .other}",
                   "{.flag and not .other}",
                   "{where(.flag, 1, 2) + where(not .flag, 1, 2)}"});
}

TEST(PrinterTest, SignsKeepTheirMeaning) {
  EXPECT_EQ(Printed("{-(2)}"), "{negate(2)}");
  EXPECT_EQ(Printed("{--2}"), "{negate(-2)}");
  EXPECT_EQ(Printed("{-(-.a)}"), "{--.a}");
  EXPECT_EQ(Printed("{-int64[1, 2]}"), "{negate(int64[1, 2])}");
  ExpectCanonical({"{-5}", "{.a - -5}", "{.a + -5}", "{-5 * .a}", "{-.a * .b}",
                   "{-(.a * .b)}", "{.a - -.b}", "{-.image[0]}", "{(-.image)[0]}",
                   "{-.a - -.b}", "{negate(-5)}", "{negate(2.5)}", "{-inf}",
                   "{-9223372036854775808}", "{.y * -0.0}"});
}

TEST(PrinterTest, IndicesAndSlicesAreWrittenInBrackets) {
  ExpectCanonical({"{.image[0]}", "{.image[-1]}", "{.image[.a + 1]}",
                   "{.image[0][1][2]}", "{.image[:]}", "{.image[1:]}", "{.image[:-1]}",
                   "{.image[1:2]}", "{.image[::2]}", "{.image[1::-1]}",
                   "{.image[:3:2]}", "{.image[1:2:3]}", "{.image[1:][0]}",
                   "{(.image + 1)[0]}", "{int64[1, 2][0]}", "{int64[-1][-1]}",
                   "{sqrt(.any)[0]}", "{(.any > 1)[0] == .flag}"});
  EXPECT_EQ(Printed("{slice(.image, start=2)}"), "{.image[2:]}");
  EXPECT_EQ(Printed("{at(.image, 2)}"), "{.image[2]}");
}

TEST(PrinterTest, OtherAxesAreWrittenAsCalls) {
  EXPECT_EQ(Printed("{at(.image, 1, axis=2)}"), "{at(.image, 1, axis=2)}");
  EXPECT_EQ(Printed("{slice(.image, axis=1, stop=2)}"),
            "{slice(.image, axis=1, start=none, stop=2, step=1)}");
}

// Not every kernel is typed as strictly as `at`; here one that takes scalars.
TEST(PrinterTest, NegativeConstantsAreIndexedInParentheses) {
  Catalog catalog = MakeTestCatalog();
  Catalog loose;
  for (auto [name, schema] : catalog.kernels()) {
    if (name == "at" || name == "slice") schema.infer = InferSame;
    loose.Add(std::move(schema));
  }
  for (const std::string_view text :
       {"{(-5)[0]}", "{(-5)[1:]}", "{(-inf)[0]}", "{5[0]}", "{nan[0]}", "{true[0]}",
        "{(-0.5f16)[0]}", "{\"abc\"[0]}", "{-5[0]}"}) {
    const auto expression = ParseExpression(text, TestRow(), loose);
    if (text == "{-5[0]}") {
      EXPECT_THAT(expression, Not(IsOk()));
      continue;
    }
    ASSERT_THAT(expression, IsOk()) << text;
    EXPECT_EQ(PrintExpression(*expression), text);
  }
}

TEST(PrinterTest, KernelsThatOnlyLookLikeOperatorsAreWrittenAsCalls) {
  Catalog catalog;
  AddKernel(catalog, {.name = "add",
                      .operands = 2,
                      .arguments = {{.name = "wrap", .doc = "", .default_value = 1}}});
  AddKernel(catalog, {.name = "multiply", .operands = 2, .random = true});
  AddKernel(catalog, {.name = "subtract", .operands = 3});
  AddKernel(catalog, {.name = "not", .operands = 2});
  AddKernel(catalog, {.name = "negate", .random = true});
  for (const std::string_view text : {"{add(.a, .b, wrap=2)}", "{multiply#0(.a, .b)}",
                                      "{subtract(.a, .b, .a)}", "{negate#1(.a)}"}) {
    const auto expression = ParseExpression(text, TestRow(), catalog);
    ASSERT_THAT(expression, IsOk()) << text;
    EXPECT_EQ(PrintExpression(*expression), text);
  }
}

TEST(PrinterTest, ConstantsAreWrittenWithTheirType) {
  ExpectCanonical({"{5}",
                   "{5i64}",
                   "{5.0}",
                   "{5.0f64}",
                   "{255u8}",
                   "{-128i8}",
                   "{18446744073709551615u64}",
                   "{0.1f32}",
                   "{0.1f16}",
                   "{0.1bf16}",
                   "{nan}",
                   "{nanf16}",
                   "{nanbf16}",
                   "{inff32}",
                   "{-inf}",
                   "{true}",
                   "{1e+300}",
                   "{5e-324}",
                   "{\"a\\n\"}",
                   "{b\"\\xff\"}",
                   "{float32[[1.0, 2.5], [3.0, 4.0]]}",
                   "{bool[true, false]}",
                   "{string[\"a\", \"b\"]}",
                   "{bytes[b\"a\"]}",
                   "{float16[inf, -inf]}"});
}

TEST(PrinterTest, NamesAreQuotedWhereTheyMustBe) {
  ExpectCanonical(
      {"{x: .a, \"odd name\": .\"odd name\", \"path.to.it\": .\"path.to.it\"}",
       "{not: .flag, and: .a, nan: .y, true: .x}",
       "{\"1\": .a, \"gr\xc3\xbc\": .b, \"\\n\\\"\": .a}"});
}

TEST(PrinterTest, ArgumentsAreWrittenInTheOrderOfTheSchema) {
  EXPECT_EQ(Printed("{fill(.a, deep=true, flags=[1, -2])}"),
            "{fill(.a, flags=[1, -2], mean=[], words=[], text=\"\", scale=1.0, "
            "deep=true)}");
  EXPECT_EQ(Printed("{fill(.a, words=[\"a\", \"\\xff\"], scale=-inf, mean=[nan])}"),
            "{fill(.a, flags=[], mean=[nan], words=[\"a\", \"\\xff\"], text=\"\", "
            "scale=-inf, deep=false)}");
}

TEST(PrinterTest, ForPeopleDefaultsAreLeftOut) {
  const PrintOptions people = {.for_people = true};
  EXPECT_EQ(Printed("{fill(.a, deep=true)}", people), "{fill(.a, deep=true)}");
  EXPECT_EQ(Printed("{fill(.a, scale=1)}", people), "{fill(.a)}");
  EXPECT_EQ(Printed("{fill(.a, scale=-1)}", people), "{fill(.a, scale=-1.0)}");
}

TEST(PrinterTest, SharedTermsAreWrittenOnce) {
  EXPECT_EQ(Printed("{x: (.a + 1) * (.a + 1)}"), "{$0 = .a + 1; x: $0 * $0}");
  EXPECT_EQ(Printed("{x: .a + 1, y: .a + 1}"), "{$0 = .a + 1; x: $0, y: $0}");
  EXPECT_EQ(Printed("{$5 = .a; $1 = $5 + 1; x: $1}"), "{x: .a + 1}");
  EXPECT_EQ(Printed("{$0 = .a + 1; $1 = $0 * $0; $1 - $1}"),
            "{$0 = .a + 1; $1 = $0 * $0; $1 - $1}");
}

TEST(PrinterTest, FieldsAndShortConstantsAreSimplyRepeated) {
  ExpectCanonical({"{.a + .a * .a}", "{5 + 5 * .a}",
                   "{uniform#0(0.0, 1.0) + "
                   "uniform#1(0.0, 1.0)}"});
}

TEST(PrinterTest, LongConstantsAndNamesAreWrittenOnce) {
  const std::string text(100, 'x');
  EXPECT_EQ(
      Printed(base::StrCat("{p: .name == \"", text, "\", q: .name != \"", text, "\"}")),
      base::StrCat("{$0 = \"", text, "\"; p: .name == $0, q: .name != $0}"));
  const std::string name(200, 'n');
  const core::Spec row({{name, DType::kInt64, {}}});
  const auto expression =
      ParseExpression(base::StrCat("{.", name, " + .", name, "}"), row, TestCatalog());
  ASSERT_THAT(expression, IsOk());
  EXPECT_EQ(PrintExpression(*expression), base::StrCat("{$0 = .", name, "; $0 + $0}"));
}

TEST(PrinterTest, DeepTermsAreCutIntoLocals) {
  std::string chain = "{$0 = .a; ";
  for (int i = 1; i < 200; ++i) chain += base::StrCat("$", i, " = -$", i - 1, "; ");
  const std::string printed = Printed(chain + "$199}");
  EXPECT_THAT(printed, HasSubstr("$1 = -------"));
  EXPECT_EQ(Printed(printed), printed);
}

TEST(PrinterTest, APipelineIsALinePerOperator) {
  const Pipeline pipeline = Parsed(
      "%x = range(stop=10)\n"
      "%y = map(%x, function={v: .value * 2 + uniform(0.0, 1.0)})\n"
      "%z = filter(%y, predicate={.v > 3})\n"
      "%u = shuffle(%z, window=5, seed=7)\n"
      "%b = batch(%u, size=2)");
  EXPECT_EQ(Print(pipeline).text,
            "millrace 1\n"
            "%0 = range#0(start=0, stop=10, step=1)\n"
            "%1 = map(%0, function={v: .value * 2 + uniform#1(0.0, 1.0)}, seed=none)\n"
            "%2 = filter(%1, predicate={.v > 3}, seed=none)\n"
            "%3 = shuffle#2(%2, window=5, seed=7)\n"
            "%4 = batch(%3, size=2, drop_remainder=false)\n");
  EXPECT_EQ(Print(pipeline, {.for_people = true}).text,
            "%0 = range#0(stop=10)\n"
            "%1 = map(%0, function={v: .value * 2 + uniform#1(0.0, 1.0)})\n"
            "%2 = filter(%1, predicate={.v > 3})\n"
            "%3 = shuffle#2(%2, window=5, seed=7)\n"
            "%4 = batch(%3, size=2)\n");
  EXPECT_THAT(Print(pipeline).attachments.all(), IsEmpty());
}

TEST(PrinterTest, BranchesComeBeforeWhatJoinsThem) {
  EXPECT_EQ(Print(Parsed("%l = range(stop=1)\n"
                         "%r = range(stop=2)\n"
                         "%b = batch(%r, size=2)\n"
                         "%z = zip(%b, %l)\n"
                         "%y = zip(%z, %b)"),
                  {.for_people = true})
                .text,
            "%0 = range#1(stop=2)\n"
            "%1 = batch(%0, size=2)\n"
            "%2 = range#0(stop=1)\n"
            "%3 = zip(%1, %2)\n"
            "%4 = zip(%3, %1)\n");
}

TEST(PrinterTest, LargeArraysStandBesideTheText) {
  std::vector<float> values(33);
  for (int i = 0; i < 33; ++i) values[i] = static_cast<float>(i);
  const Tensor array = Tensor::FromValues<float>(values, {33});
  Attachments given;
  given.Add(EncodeTensor(array));
  const std::string name = base::ToHex(EncodeTensor(array).hash());
  const Pipeline pipeline = Parsed(
      base::StrCat("%0 = rows()\n%1 = map(%0, function={x: @", name, " + .x})"), given);
  const PipelineText printed = Print(pipeline);
  EXPECT_THAT(printed.text, HasSubstr(base::StrCat("{x: @", name, " + .x}")));
  EXPECT_THAT(printed.attachments.all(), SizeIs(1));
  EXPECT_THAT(printed.attachments.Find(EncodeTensor(array).hash()),
              IsOkAndHolds(EncodeTensor(array)));
}

TEST(PrinterTest, BytesOfOperatorsStandBesideTheText) {
  Attachments given;
  given.Add(Attachment("a serialised function"));
  const std::string name = base::ToHex(base::Sha256Of("a serialised function"));
  const Pipeline pipeline =
      Parsed(base::StrCat("%0 = from_bytes(content=@", name, ")"), given);
  const PipelineText printed = Print(pipeline);
  EXPECT_EQ(printed.text,
            base::StrCat("millrace 1\n%0 = from_bytes#0(content=@", name, ")\n"));
  EXPECT_THAT(printed.attachments.all(), SizeIs(1));
}

TEST(PrinterTest, OnlyWhatIsUsedTravels) {
  Attachments given;
  given.Add(Attachment("used"));
  given.Add(Attachment("left over"));
  const Pipeline pipeline =
      Parsed(base::StrCat("%0 = from_bytes(content=@",
                          base::ToHex(base::Sha256Of("used")), ")"),
             given);
  EXPECT_THAT(Print(pipeline).attachments.all(), SizeIs(1));
}

}  // namespace
}  // namespace millrace::ir
