// Texts that no honest user writes: very long, very deep, very many of everything. Each
// is one short error with a place, in seconds, on an ordinary stack.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;
using testing::Lt;
using testing::SizeIs;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

std::string Repeated(std::string_view text, int64_t times) {
  std::string repeated;
  repeated.reserve(text.size() * times);
  for (int64_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

// What `make` gives for 0, 1, 2, ..., one after the other.
std::string Listed(int64_t count, const std::function<std::string(int64_t)>& make) {
  std::string listed;
  for (int64_t i = 0; i < count; ++i) listed += make(i);
  return listed;
}

std::string Map(std::string_view function) {
  return base::StrCat("%0 = rows()\n%1 = map(%0, function={", function, "})");
}

// Checks that a text is refused, in few words.
void ExpectRefused(std::string_view text, std::string_view why) {
  EXPECT_THAT(Parse(text, {}, TestCatalog()),
              StatusIs(kWrong, AllOf(HasSubstr(std::string(why)), SizeIs(Lt(500)))))
      << text.substr(0, 100);
}

TEST(HostileTextTest, TextsOverTheLimitAreNotRead) {
  ExpectRefused(std::string(kTextBytesMax + 1, ' '),
                "pipeline text is too long: 16777217 bytes, at most 16777216");
  EXPECT_THAT(ParseExpression(std::string(kTextBytesMax + 1, ' '), {}, TestCatalog()),
              StatusIs(kWrong));
}

// As long as a text may be.
TEST(HostileTextTest, LongTextsOfOneKindAreRefused) {
  for (const std::string_view piece :
       {"\n", "(", "#\n", "a#1 ", "%0 = range(stop=1)\n"}) {
    const auto times = static_cast<int64_t>(kTextBytesMax / piece.size());
    ExpectRefused(Repeated(piece, times), "");
  }
}

TEST(HostileTextTest, RepetitionsOfEveryTokenAreRefused) {
  for (const std::string_view piece :
       {"{", "[", "%0", "$0 ", "@", "-", "not ", ".a", "1 ", "\"\"", "b\"\"", "=", ",",
        "millrace 1 ", "%0 = range(stop=", "%0 = rows() %0 = map(%0, function={"}) {
    ExpectRefused(Repeated(piece, 100'000), "line ");
    ExpectRefused(Map(base::StrCat("x: ", Repeated(piece, 100'000))), "line ");
  }
}

TEST(HostileTextTest, LongTokensAreShownInShort) {
  const std::string name(1'000'000, 'x');
  ExpectRefused(
      base::StrCat("%", name, " = range(stop=1)\n%", name, " = range(stop=1)"),
      "is defined twice");
  ExpectRefused(base::StrCat("%0 = batch(%", name, ", size=1)"), "is used before");
  ExpectRefused(base::StrCat("%0 = ", name, "(stop=1)"), "there is no operator xxxx");
  ExpectRefused(base::StrCat("%0 = range(", name, "=1)"), "there is no argument xxxx");
  ExpectRefused(base::StrCat("%0 = range(stop=1", name, ")"), "unknown suffix: xxxx");
  ExpectRefused(base::StrCat("%0 = range(stop=", std::string(1'000'000, '9'), ")"),
                "does not fit int64");
  ExpectRefused(base::StrCat("%0 = range#", std::string(1'000'000, '9'), "(stop=1)"),
                "call numbers go from 0 to 65535");
  ExpectRefused(base::StrCat("%0 = range(stop=\"", name, "\")"), "not a text");
  ExpectRefused(base::StrCat("%0 = from_bytes(content=@", name, ")"), "64 hexadecimal");
  ExpectRefused(Map(base::StrCat("x: .", name)), "there is no field xxxx");
  ExpectRefused(Map(base::StrCat("x: .\"\\n\\xff", name, "\"")),
                "there is no field \\n\\xff");
  ExpectRefused(Map(base::StrCat("x: ", name, "(.a)")), "there is no kernel xxxx");
  ExpectRefused(Map(base::StrCat("x: ", name)), "expected '(' after xxxx");
  ExpectRefused(Map(base::StrCat(name, ": .a")), "longer than 256 bytes");
  ExpectRefused(Map(base::StrCat("x: $", std::string(1'000'000, '1'))), "$1111");
  ExpectRefused(Map(base::StrCat("x: cast(.a, dtype=\"", name, "\")")), "not xxxx");
  ExpectRefused(Map(base::StrCat("x: \"\\xff", name, "\"")), "not valid UTF-8");
  ExpectRefused(Map(base::StrCat("x: \"\\x", std::string(1'000'000, 'f'), "\"")),
                "a quoted text is wrong");
}

TEST(HostileTextTest, DeepNestingIsRefused) {
  constexpr int64_t kDeep = 100'000;
  for (const std::string_view open :
       {"(", "not ", "-", "- (", "sqrt(", ".image[", ".a + (", ".a == (", "not (",
        "where(.flag, ", "int64[0][", "fill(fill("}) {
    ExpectRefused(Map(base::StrCat("x: ", Repeated(open, kDeep))), "less nesting");
  }
  for (const std::string_view open : {"[", "[1, ", "[[], "}) {
    ExpectRefused(base::StrCat("%0 = range(stop=", Repeated(open, kDeep)),
                  "less nesting");
    ExpectRefused(Map(base::StrCat("x: fill(.a, flags=", Repeated(open, kDeep))),
                  "less nesting");
    ExpectRefused(Map(base::StrCat("x: int64", Repeated(open, kDeep))), "less nesting");
  }
  ExpectRefused(Map(Repeated("{", kDeep)), "expected an expression");
}

TEST(HostileTextTest, LongChainsAreCountedNotNested) {
  for (const std::string_view link : {" + .a", " % 3"}) {
    ExpectRefused(Map(base::StrCat("x: .a", Repeated(link, 70'000))),
                  "expression has more than 65536 terms");
  }
  ExpectRefused(Map(base::StrCat("x: .flag", Repeated(" and .flag", 70'000))),
                "more than 65536 terms");
  ExpectRefused(Map(base::StrCat("x: .any", Repeated("[0]", 70'000))),
                "more than 65536 terms");
  EXPECT_THAT(
      Parse(Map(base::StrCat("x: .a", Repeated(" + .a", 60'000))), {}, TestCatalog()),
      IsOk());
}

TEST(HostileTextTest, TokensAreCounted) {
  ExpectRefused(base::StrCat("%0 = range(stop=[", Repeated("1,", 600'000), "])"),
                "the text is too long: more than 1048576");
  ExpectRefused(Map(base::StrCat("x: add(", Repeated(".a,", 600'000), ")")),
                "too long");
}

TEST(HostileTextTest, OperandsAndArgumentsAreCounted) {
  ExpectRefused(Map(base::StrCat("x: add(", Repeated(".a,", 100'000), ")")),
                "add: takes 2 operands, not 100000");
  ExpectRefused(Map(base::StrCat("x: maximum(", Repeated(".a,", 100'000), ")")),
                "maximum: takes at most 256 operands, not 100000");
  ExpectRefused(base::StrCat("%0 = range(", Repeated("stop=1,", 50'000), ")"),
                "argument stop is given twice");
  ExpectRefused(
      base::StrCat(
          "%0 = range(",
          Listed(50'000, [](int64_t i) { return base::StrCat("a", i, "=1,"); }), ")"),
      "there is no argument a0");
  ExpectRefused(base::StrCat("%0 = range(stop=1)\n%1 = batch(",
                             Repeated("%0,", 100'000), "size=1)"),
                "batch: takes 1 input, not 100000");
}

TEST(HostileTextTest, ResultsAndLocalsAreCounted) {
  ExpectRefused(
      Map(Listed(50'000, [](int64_t i) { return base::StrCat("r", i, ": .a, "); })),
      "expression has more than 4096 results");
  ExpectRefused(
      Map(base::StrCat(
          Listed(70'000,
                 [](int64_t i) { return base::StrCat("$", i, " = .a * ", i, "; "); }),
          "x: .a")),
      "more than 65536 terms");
  EXPECT_THAT(
      Parse(
          Map(base::StrCat(
              Listed(50'000, [](int64_t i) { return base::StrCat("$", i, " = .a; "); }),
              "x: $0")),
          {}, TestCatalog()),
      IsOk());
}

TEST(HostileTextTest, NodesAreCounted) {
  ExpectRefused(
      Listed(100'000,
             [](int64_t i) { return base::StrCat("%", i, " = range(stop=1)\n"); }),
      "line 2001, column 1: pipeline has more than 2000 operators");
  ExpectRefused(base::StrCat("%0 = range(stop=1)\n",
                             Listed(100'000,
                                    [](int64_t i) {
                                      return base::StrCat("%", i + 1, " = shuffle(%", i,
                                                          ", window=2)\n");
                                    })),
                "pipeline has more than 2000 operators");
}

TEST(HostileTextTest, BranchesThatDoubleStaySmall) {
  const std::string text =
      base::StrCat("%0 = range(stop=1)\n", Listed(1'500, [](int64_t i) {
                     return base::StrCat("%", i + 1, " = zip(%", i, ", %", i, ")\n");
                   }));
  const absl::StatusOr<Pipeline> pipeline = Parse(text, {}, TestCatalog());
  ASSERT_THAT(pipeline, IsOk());
  EXPECT_EQ(pipeline->Nodes().size(), 1'501);
  EXPECT_THAT(Parse(Print(*pipeline).text, {}, TestCatalog()), IsOk());
}

TEST(HostileTextTest, AxesDoNotGrowWithoutEnd) {
  ExpectRefused(base::StrCat("%0 = range(stop=1)\n",
                             Listed(1'900,
                                    [](int64_t i) {
                                      return base::StrCat("%", i + 1, " = batch(%", i,
                                                          ", size=1)\n");
                                    })),
                "line 34, column 7: batch: the field value has 33 axes, more than 32");
  ExpectRefused(
      Map(base::StrCat("x: ", Repeated("wider(", 40), ".a", Repeated(")", 40))),
      "wider: a value has 33 axes");
}

TEST(HostileTextTest, FieldsOfAllNodesTogetherAreCounted) {
  const std::string wide =
      Listed(4'096, [](int64_t i) { return base::StrCat("r", i, ": .a, "); });
  const std::string text = base::StrCat(
      Map(wide.substr(0, wide.size() - 2)), "\n", Listed(1'900, [](int64_t i) {
        return base::StrCat("%b", i, " = batch(%1, size=1)\n");
      }));
  ExpectRefused(text, "operators have more than 1048576 fields together");
}

TEST(HostileTextTest, ManyReadsOfManyFieldsAreQuick) {
  const std::string wide =
      Listed(4'096, [](int64_t i) { return base::StrCat("r", i, ": .a, "); });
  std::string reads = "y: .r4095";
  for (int64_t i = 0; i < 60'000; ++i) reads += base::StrCat(" + .r", 4'095 - i % 64);
  const std::string text = base::StrCat(Map(wide.substr(0, wide.size() - 2)),
                                        "\n%2 = map(%1, function={", reads, "})");
  EXPECT_THAT(Parse(text, {}, TestCatalog()), IsOk());
}

TEST(HostileTextTest, AnAttachmentNamedOftenIsReadOnce) {
  const core::Tensor array =
      core::Tensor::FromValues<uint8_t>(std::vector<uint8_t>(16 << 20, 1), {16 << 20});
  Attachments attachments;
  attachments.Add(EncodeTensor(array));
  const std::string name = base::StrCat("@", base::ToHex(EncodeTensor(array).hash()));
  const std::string text =
      Map(base::StrCat("x: ", name, Repeated(" + " + name, 2'000)));
  const absl::StatusOr<Pipeline> pipeline = Parse(text, attachments, TestCatalog());
  ASSERT_THAT(pipeline, IsOk());
  const PipelineText printed = Print(*pipeline);
  EXPECT_LT(printed.text.size(), 100'000);
  EXPECT_EQ(printed.attachments.all().size(), 1);
}

TEST(HostileTextTest, WhatIsPrintedIsNeverMuchLongerThanWhatWasRead) {
  const std::string name(250, 'n');
  const std::string text =
      base::StrCat(Map(base::StrCat(name, ": .a")), "\n%2 = map(%1, function={$0 = .",
                   name, "; x: $0", Repeated("+$0", 60'000), "})");
  const absl::StatusOr<Pipeline> pipeline = Parse(text, {}, TestCatalog());
  ASSERT_THAT(pipeline, IsOk());
  EXPECT_LT(Print(*pipeline).text.size(), 10 * text.size());
}

// Pieces of the language.
// clang-format off
constexpr std::string_view kPieces[] = {
    "%0", " = ", "range", "rows", "map", "filter", "batch", "shuffle", "zip", "(",
    ")", "{", "}", "[", "]", ",", ":", ";", "stop", "=", "size", "10", "-1", "1.5f32",
    "nan", "inf", "true", "none", ".a", ".x", ".flag", "$0", "$1 = ", " + ", " - ",
    " * ", " / ", "//", "%", " == ", " < ", " and ", " or ", " not ", "\"t\"",
    "b\"t\"", "uniform#1(0, 1)", "function={", "x: ", "int64[1, 2]", "#", "\n", "@00",
    "%1 = map(%0, function={x: ", "predicate={", "millrace 1\n", "%0 = rows()\n",
};
// clang-format on

// Random bytes, and random pieces of the language in random order.
TEST(HostileTextTest, RandomTextIsAnErrorOrAPipeline) {
  base::Generator generator(base::RandomKey(9, 9, 9), {});
  int parsed = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string text = i % 2 == 0 ? "%0 = rows()\n%1 = map(%0, function={x: " : "";
    const int64_t pieces = generator.Integer(0, 12);
    for (int64_t k = 0; k < pieces; ++k) {
      text += i % 10 == 0
                  ? std::string(1, static_cast<char>(generator.Integer(0, 256)))
                  : std::string(kPieces[generator.Integer(0, std::ssize(kPieces))]);
    }
    if (i % 4 == 0) text += "})";
    const absl::StatusOr<Pipeline> pipeline = Parse(text, {}, TestCatalog());
    if (!pipeline.ok()) {
      EXPECT_THAT(pipeline.status().message().size(), Lt(500)) << text;
      continue;
    }
    ++parsed;
    const PipelineText printed = Print(*pipeline);
    const auto again = Parse(printed.text, printed.attachments, TestCatalog());
    ASSERT_THAT(again, IsOk()) << text;
    EXPECT_EQ(again->fingerprint(), pipeline->fingerprint()) << text;
    EXPECT_EQ(Print(*again).text, printed.text) << text;
  }
  EXPECT_GT(parsed, 100);
}

}  // namespace
}  // namespace millrace::ir
