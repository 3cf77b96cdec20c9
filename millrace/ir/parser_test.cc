#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

absl::StatusOr<Pipeline> Parsed(std::string_view text,
                                const Attachments& attachments = {}) {
  return Parse(text, attachments, TestCatalog());
}

Pipeline Must(std::string_view text) {
  absl::StatusOr<Pipeline> pipeline = Parsed(text);
  CHECK(pipeline.ok()) << pipeline.status();
  return *std::move(pipeline);
}

// The call numbers of all nodes and all random calls, in the order of the text form.
std::vector<int64_t> NumbersIn(std::string_view text) {
  std::vector<int64_t> numbers;
  for (const Pipeline& node : Must(text).Nodes()) {
    if (node.call_number() != kNoCallNumber) numbers.push_back(node.call_number());
    for (const Argument& argument : node.arguments().all()) {
      const auto* function = argument.value.If<Function>();
      if (function == nullptr) continue;
      for (const Term& term : (*function)->terms()) {
        if (term.call_number != kNoCallNumber) numbers.push_back(term.call_number);
      }
    }
  }
  return numbers;
}

TEST(ParserTest, TheLastLineIsThePipeline) {
  const Pipeline pipeline = Must(
      "millrace 1\n"
      "%0 = range(stop=10)\n"
      "%1 = range(stop=20)\n"
      "%2 = batch(%0, size=2)\n");
  EXPECT_EQ(pipeline.name(), "batch");
  EXPECT_EQ(pipeline.inputs()[0].arguments()["stop"], Value(10));
}

TEST(ParserTest, LayoutDoesNotMatter) {
  const std::string wanted =
      Print(Must("%0 = range(stop=10)\n%1 = batch(%0, size=2)")).text;
  for (const std::string_view text :
       {"%0=range(stop=10)%1=batch(%0,size=2)",
        "%0 = range(\n  stop = 10,\n)\n\n\n%1 = batch(\n%0 , size=2,)",
        "# First.\n%0 = range(stop=10) # Second.\r\n\t%1 = batch(%0, size=2)\r\n# "
        "Last.",
        "millrace 1 %0 = range(stop=10) %1 = batch(%0, size=2)"}) {
    EXPECT_EQ(Print(Must(text)).text, wanted) << text;
  }
}

TEST(ParserTest, NodesHaveAnyNames) {
  const Pipeline pipeline =
      Must("%train = range(stop=1)\n%007 = batch(%train, size=1)");
  EXPECT_EQ(pipeline.name(), "batch");
}

TEST(ParserTest, TheVersionIsANumber) {
  EXPECT_THAT(
      Parsed("millrace 2\n%0 = range(stop=1)"),
      StatusIs(kWrong, "line 1, column 10: expected version 1, found the number 2"));
  EXPECT_THAT(Parsed("millrace\n%0 = range(stop=1)"), StatusIs(kWrong));
  EXPECT_THAT(Parsed("millrace \"1\"\n%0 = range(stop=1)"),
              StatusIs(kWrong, HasSubstr("found a quoted text")));
  EXPECT_THAT(Parsed("millrace %1 = range(stop=1)"), StatusIs(kWrong));
  EXPECT_THAT(Parsed("millrace 1.0\n%0 = range(stop=1)"), StatusIs(kWrong));
}

TEST(ParserTest, FunctionsAreTypedAgainstTheirInput) {
  const Pipeline pipeline = Must(
      "%0 = rows()\n"
      "%1 = map(%0, function={x: .image[0], y: .name})\n"
      "%2 = filter(%1, predicate={.y == \"a\"})");
  EXPECT_EQ(pipeline.spec(), core::Spec({{"x", core::DType::kUint8, {4, 3}},
                                         {"y", core::DType::kString, {}}}));
  EXPECT_THAT(Parsed("%0 = rows()\n"
                     "%1 = map(%0, function={x: .a})\n"
                     "%2 = filter(%1, predicate={.a == 1})"),
              StatusIs(kWrong,
                       "line 3, column 28: filter: there is no field a; fields "
                       "are: x"));
}

TEST(ParserTest, ErrorsSayPlaceAndOperator) {
  EXPECT_THAT(Parsed("%0 = range(stop=10)\n%1 = batch(%0, size=0)"),
              StatusIs(kWrong,
                       "line 2, column 6: batch: argument size must be at least "
                       "1, not 0"));
  EXPECT_THAT(Parsed("%0 = range(stop=10)\n%1 = map(%0, function={x: .value + \"a\"})"),
              StatusIs(kWrong,
                       "line 2, column 34: map: add: types do not go together: "
                       "int64 and string"));
  EXPECT_THAT(
      Parsed("%0 = range(stop=[)"),
      StatusIs(kWrong, "line 1, column 18: range: expected a value, found ')'"));
}

TEST(ParserTest, UnknownOperatorsAreFoundBeforeTheirArgumentsAreRead) {
  EXPECT_THAT(Parsed("%0 = range(stop=1)\n%1 = mapp(%0, function={x: .nothing})"),
              StatusIs(kWrong,
                       "line 2, column 6: there is no operator mapp (did you mean "
                       "map?)"));
}

TEST(ParserTest, TheOperatorIsNamedOnlyInsideIt) {
  EXPECT_THAT(Parsed("%0 = range(stop=1)\nbatch(%0)"),
              StatusIs(kWrong,
                       "line 2, column 1: expected a line like %0 = "
                       "range(stop=10), found the name batch"));
}

TEST(ParserTest, NodesAreDefinedOnceAndBefore) {
  EXPECT_THAT(Parsed("%0 = range(stop=1)\n%0 = range(stop=2)"),
              StatusIs(kWrong, "line 2, column 1: %0 is defined twice"));
  EXPECT_THAT(Parsed("%0 = batch(%1, size=1)\n%1 = range(stop=1)"),
              StatusIs(kWrong,
                       "line 1, column 12: batch: %1 is used before it is defined; "
                       "a pipeline has no cycles"));
  EXPECT_THAT(Parsed("%0 = batch(%0, size=1)"),
              StatusIs(kWrong, HasSubstr("no cycles")));
  EXPECT_THAT(Parsed("%0 = batch(%1, size=1)\n%1 = batch(%0, size=1)"),
              StatusIs(kWrong, HasSubstr("no cycles")));
}

TEST(ParserTest, InputsComeBeforeArguments) {
  EXPECT_THAT(Parsed("%0 = range(stop=1)\n%1 = batch(size=1, %0)"),
              StatusIs(kWrong, HasSubstr("inputs come first")));
  EXPECT_THAT(Parsed("%0 = range(stop=1)\n%1 = batch(%0, 1)"),
              StatusIs(kWrong, HasSubstr("expected a named argument, as in size=32")));
  EXPECT_THAT(Parsed("%0 = range(stop={.x})"),
              StatusIs(kWrong, HasSubstr("expected an input before a function")));
  EXPECT_THAT(Parsed("%0 = range(stop=1)\n%1 = map(function={x: 1}, %0)"),
              StatusIs(kWrong, HasSubstr("expected an input before a function")));
}

TEST(ParserTest, NumbersLeftOutAreGivenInOrder) {
  EXPECT_THAT(NumbersIn("%0 = range(stop=1)\n"
                        "%1 = map(%0, function={x: uniform(0, 1) + uniform(0, 1)})\n"
                        "%2 = shuffle(%1, window=2)\n"
                        "%3 = filter(%2, predicate={uniform(0, 1) < .x})"),
              ElementsAre(0, 1, 2, 3, 4));
}

TEST(ParserTest, BranchesGetDifferentNumbers) {
  EXPECT_THAT(NumbersIn("%0 = range(stop=1)\n"
                        "%1 = range(stop=1)\n"
                        "%2 = shuffle(%0, window=2)\n"
                        "%3 = shuffle(%1, window=2)\n"
                        "%4 = shuffle(%0, window=2)\n"
                        "%5 = zip(%2, %3)\n"
                        "%6 = zip(%5, %4)"),
              ElementsAre(0, 2, 1, 3, 4));
}

TEST(ParserTest, NumbersLeftOutAvoidThoseThatAreGiven) {
  EXPECT_THAT(NumbersIn("%0 = range(stop=1)\n"
                        "%1 = map(%0, function={x: uniform(0, 1) + uniform#0(0, 1)})\n"
                        "%2 = shuffle#7(%1, window=2)"),
              ElementsAre(8, 9, 0, 7));
  // Comments and texts give none.
  EXPECT_THAT(NumbersIn("%0 = range(stop=1)  # uniform#9\n"
                        "%1 = map(%0, function={x: uniform(0, 1), y: \"uniform#9\"})"),
              ElementsAre(0, 1));
  const auto expression =
      ParseExpression("{uniform(0, 1) + uniform#0(0, 1)}", TestRow(), TestCatalog());
  ASSERT_THAT(expression, IsOk());
  EXPECT_EQ(PrintExpression(*expression), "{uniform#1(0, 1) + uniform#0(0, 1)}");
}

TEST(ParserTest, NumbersAreOfSourcesAndRandomOperators) {
  EXPECT_THAT(Parsed("%0 = range(stop=1)\n%1 = batch#3(%0, size=1)"),
              StatusIs(kWrong,
                       "line 2, column 6: batch: only sources and random operators "
                       "are numbered"));
  EXPECT_THAT(Parsed("%0 = range#65535(stop=1)"), IsOk());
  EXPECT_THAT(
      Parsed("%0 = range#65536(stop=1)"),
      StatusIs(kWrong, "line 1, column 11: range: call numbers go from 0 to 65535"));
  EXPECT_THAT(Parsed("%0 = range#65535(stop=1)\n%1 = shuffle(%0, window=2)"),
              StatusIs(kWrong, HasSubstr("shuffle: call numbers go from 0 to 65535")));
}

TEST(ParserTest, AttachmentsComeFromBesideTheText) {
  Attachments attachments;
  attachments.Add(Attachment("content"));
  const std::string name = base::ToHex(base::Sha256Of("content"));
  const std::string text = base::StrCat("%0 = from_bytes(content=@", name, ")");
  const absl::StatusOr<Pipeline> pipeline = Parsed(text, attachments);
  ASSERT_THAT(pipeline, IsOk());
  EXPECT_EQ(pipeline->arguments()["content"].As<Attachment>().content(), "content");
  EXPECT_THAT(Parsed(text), StatusIs(absl::StatusCode::kNotFound,
                                     base::StrCat("line 1, column 25: from_bytes: "
                                                  "attachment is missing: @",
                                                  name)));
}

TEST(ParserTest, ExpressionsEndWhereTheyEnd) {
  EXPECT_THAT(ParseExpression("{.a} .b", TestRow(), TestCatalog()),
              StatusIs(kWrong, HasSubstr("expected nothing more, found the field .b")));
  EXPECT_THAT(ParseExpression(".a", TestRow(), TestCatalog()),
              StatusIs(kWrong, HasSubstr("expected '{'")));
  EXPECT_THAT(ParseExpression(" { .a } # Comment.", TestRow(), TestCatalog()), IsOk());
}

TEST(ParserTest, EveryBeginningOfATextIsAnErrorOrAPipeline) {
  const std::string_view whole =
      "millrace 1\n"
      "%0 = range#0(start=0, stop=1000, step=1)\n"
      "%1 = map(%0, function={$0 = .value * 2; x: $0 + uniform#1(0.0, 1.0)}, "
      "seed=none)\n"
      "%2 = filter(%1, predicate={.x > 10.0 and not .x == -5}, seed=3)\n"
      "%3 = batch(%2, size=32, drop_remainder=false)\n";
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::StatusOr<Pipeline> pipeline = Parsed(whole.substr(0, size));
    if (pipeline.ok()) continue;
    EXPECT_THAT(pipeline.status(), StatusIs(kWrong, HasSubstr("line "))) << size;
  }
  EXPECT_THAT(Parsed(whole), IsOk());
}

TEST(ParserTest, EveryTextWithOneByteChangedIsAnErrorOrAPipeline) {
  const std::string whole =
      "%0 = rows()\n"
      "%1 = map(%0, function={$0 = .image[1:-1]; x: $0[.a] - -5u8, \"y\": nan})\n"
      "%2 = shuffle#3(%1, window=2, seed=1)";
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char c : std::string_view("\0 \n\"\\#$%().:;,={}[]-0a~\xff", 24)) {
      std::string changed = whole;
      changed[i] = c;
      const absl::StatusOr<Pipeline> pipeline = Parsed(changed);
      if (!pipeline.ok()) continue;
      EXPECT_THAT(Parsed(Print(*pipeline).text), IsOk()) << changed;
    }
  }
}

}  // namespace
}  // namespace millrace::ir
