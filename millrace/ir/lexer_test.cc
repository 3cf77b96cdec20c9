#include "millrace/ir/lexer.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::ir {
namespace {

using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Kind = Token::Kind;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

// Every token as "kind text", until the end or an error.
std::vector<std::string> Lexed(std::string_view text) {
  static constexpr const char* kKinds[] = {"end",        "name",   "node", "local",
                                           "field",      "number", "text", "bytes",
                                           "attachment", "call",   "mark"};
  std::vector<std::string> tokens;
  Lexer lexer(text);
  while (true) {
    const absl::StatusOr<Token> token = lexer.Next();
    if (!token.ok()) {
      tokens.emplace_back("error");
      return tokens;
    }
    if (token->kind == Kind::kEnd) return tokens;
    tokens.push_back(
        base::StrCat(kKinds[static_cast<int>(token->kind)], " ", token->text));
  }
}

absl::Status ErrorOf(std::string_view text) {
  Lexer lexer(text);
  while (true) {
    const absl::StatusOr<Token> token = lexer.Next();
    if (!token.ok()) return token.status();
    if (token->kind == Kind::kEnd) return absl::OkStatus();
  }
}

TEST(LexerTest, AnEmptyTextEndsForEver) {
  Lexer lexer(" \t\r\n ");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(lexer.Next()->kind, Kind::kEnd);
}

TEST(LexerTest, ReadsALine) {
  EXPECT_THAT(Lexed("%0 = range#3(stop=10)"),
              ElementsAre("node 0", "mark =", "name range", "call 3", "mark (",
                          "name stop", "mark =", "number 10", "mark )"));
}

TEST(LexerTest, ReadsAFunction) {
  EXPECT_THAT(Lexed("{$0 = .x*2; y: $0[1:], \"odd\": -inf}"),
              ElementsAre("mark {", "local 0", "mark =", "field x", "mark *",
                          "number 2", "mark ;", "name y", "mark :", "local 0", "mark [",
                          "number 1", "mark :", "mark ]", "mark ,", "text odd",
                          "mark :", "mark -", "name inf", "mark }"));
}

TEST(LexerTest, TakesTheLongestMark) {
  EXPECT_THAT(Lexed("a//b/c==d=e<=f<g!=h>=i>j"),
              ElementsAre("name a", "mark //", "name b", "mark /", "name c",
                          "mark ==", "name d", "mark =", "name e", "mark <=", "name f",
                          "mark <", "name g", "mark !=", "name h", "mark >=", "name i",
                          "mark >", "name j"));
  EXPECT_THAT(Lexed("==="), ElementsAre("mark ==", "mark ="));
  EXPECT_THAT(Lexed("///"), ElementsAre("mark //", "mark /"));
}

TEST(LexerTest, NamesAreLettersDigitsAndStrokes) {
  EXPECT_THAT(Lexed("_ a1 A_b2 b"),
              ElementsAre("name _", "name a1", "name A_b2", "name b"));
  EXPECT_THAT(Lexed("a.b"), ElementsAre("name a", "field b"));
  EXPECT_THAT(Lexed("a-b"), ElementsAre("name a", "mark -", "name b"));
}

TEST(LexerTest, NodesAndLocalsHaveNames) {
  EXPECT_THAT(Lexed("%12 %train_set %0a"),
              ElementsAre("node 12", "node train_set", "node 0a"));
  EXPECT_THAT(Lexed("$12"), ElementsAre("local 12"));
  EXPECT_THAT(Lexed("$x"), ElementsAre("error"));
}

TEST(LexerTest, APercentSignInsideBracesIsARemainder) {
  EXPECT_THAT(Lexed("{.x%2}"),
              ElementsAre("mark {", "field x", "mark %", "number 2", "mark }"));
  EXPECT_THAT(Lexed("{.x%%0}"), ElementsAre("mark {", "field x", "mark %", "mark %",
                                            "number 0", "mark }"));
  EXPECT_THAT(Lexed("{{} %a} %a"), ElementsAre("mark {", "mark {", "mark }", "mark %",
                                               "name a", "mark }", "node a"));
  EXPECT_THAT(Lexed("% 0"), ElementsAre("mark %", "number 0"));
}

TEST(LexerTest, FieldsArePlainOrQuoted) {
  EXPECT_THAT(Lexed(".label .\"odd name\" .\"\" .\"a\\\"b\""),
              ElementsAre("field label", "field odd name", "field ", "field a\"b"));
  EXPECT_THAT(Lexed(". x"), ElementsAre("mark .", "name x"));
  EXPECT_THAT(Lexed(".5"), ElementsAre("mark .", "number 5"));
}

TEST(LexerTest, NumbersCarryFractionExponentAndSuffix) {
  for (const std::string_view number :
       {"0", "12", "1.5", "1e5", "1e+5", "1e-5", "1.5e-3f32", "7u8", "1.0bf16", "00",
        "1e5f16", "18446744073709551615u64"}) {
    EXPECT_THAT(Lexed(number), ElementsAre(base::StrCat("number ", number)));
  }
}

TEST(LexerTest, WhatIsNotOfTheNumberComesAfterIt) {
  EXPECT_THAT(Lexed("1."), ElementsAre("number 1", "mark ."));
  EXPECT_THAT(Lexed("1.x"), ElementsAre("number 1", "field x"));
  EXPECT_THAT(Lexed("1.5.2"), ElementsAre("number 1.5", "mark .", "number 2"));
  EXPECT_THAT(Lexed("1-2"), ElementsAre("number 1", "mark -", "number 2"));
  EXPECT_THAT(Lexed("1e"), ElementsAre("number 1e"));
  EXPECT_THAT(Lexed("1e+"), ElementsAre("number 1e", "mark +"));
  EXPECT_THAT(Lexed("1e+x"), ElementsAre("number 1e", "mark +", "name x"));
  EXPECT_THAT(Lexed("0x1F"), ElementsAre("number 0x1F"));
  EXPECT_THAT(Lexed("-1"), ElementsAre("mark -", "number 1"));
}

TEST(LexerTest, QuotedTextIsUnescaped) {
  EXPECT_THAT(Lexed(R"("" "a" "\"\\\n\t" "\x41\101")"),
              ElementsAre("text ", "text a", "text \"\\\n\t", "text AA"));
  EXPECT_THAT(Lexed(R"(b"a" b"")"), ElementsAre("bytes a", "bytes "));
  EXPECT_THAT(Lexed("b \"a\""), ElementsAre("name b", "text a"));
  EXPECT_THAT(Lexed("bb\"a\""), ElementsAre("name bb", "text a"));
  EXPECT_THAT(Lexed("\"# no comment\""), ElementsAre("text # no comment"));
}

TEST(LexerTest, QuotedTextHoldsAnyByteButALineFeed) {
  std::string quoted = "\"";
  std::string wanted = "text ";
  for (int c = 0; c < 256; ++c) {
    if (c == '"' || c == '\\' || c == '\n') continue;
    quoted += static_cast<char>(c);
    wanted += static_cast<char>(c);
  }
  EXPECT_THAT(Lexed(quoted + "\""), ElementsAre(wanted));
}

TEST(LexerTest, QuotedTextEndsOnItsLine) {
  for (const std::string_view text :
       {"\"", "\"abc", "\"abc\n\"", "\"abc\\\"", "\"abc\\", "b\"x", ".\"x"}) {
    EXPECT_THAT(ErrorOf(text), StatusIs(kWrong, HasSubstr("does not end on its line")))
        << text;
  }
}

TEST(LexerTest, WrongEscapesAreNamed) {
  EXPECT_THAT(ErrorOf(R"("\q")"),
              StatusIs(kWrong, HasSubstr("a quoted text is wrong")));
  EXPECT_THAT(ErrorOf(R"("\x")"),
              StatusIs(kWrong, HasSubstr("a quoted text is wrong")));
  EXPECT_THAT(ErrorOf("\"a\\\nb\""), StatusIs(kWrong));
  EXPECT_THAT(ErrorOf("\"\\x" + std::string(100'000, 'f') + "\""),
              StatusIs(kWrong, testing::SizeIs(testing::Lt(200))));
}

TEST(LexerTest, AttachmentsAreAnAtSignAndDigits) {
  EXPECT_THAT(Lexed("@0a1b @ @xyz"),
              ElementsAre("attachment 0a1b", "attachment ", "attachment xyz"));
}

TEST(LexerTest, CommentsReachToTheEndOfTheLine) {
  EXPECT_THAT(Lexed("# all\na # rest\n# more\nb#"), ElementsAre("name a", "name b"));
  EXPECT_THAT(Lexed("#"), IsEmpty());
  EXPECT_THAT(Lexed("a # 3\n3"), ElementsAre("name a", "number 3"));
}

TEST(LexerTest, ACallNumberStandsRightBehindAName) {
  EXPECT_THAT(Lexed("uniform#12(x)"),
              ElementsAre("name uniform", "call 12", "mark (", "name x", "mark )"));
  EXPECT_THAT(Lexed("uniform #12"), ElementsAre("name uniform"));
  EXPECT_THAT(Lexed("uniform#x"), ElementsAre("name uniform"));
  EXPECT_THAT(Lexed(".x#1"), ElementsAre("field x"));
  EXPECT_THAT(Lexed("3#1"), ElementsAre("number 3"));
  EXPECT_THAT(Lexed("a#1#2"), ElementsAre("name a", "call 1"));
}

TEST(LexerTest, TokensKnowTheirPlace) {
  Lexer lexer("a\n  bb \"x\"\n\t%0 # c\n\n$1");
  const std::vector<std::pair<int, int>> places = {
      {1, 1}, {2, 3}, {2, 6}, {3, 2}, {5, 1}};
  for (const auto& [line, column] : places) {
    const absl::StatusOr<Token> token = lexer.Next();
    ASSERT_TRUE(token.ok());
    EXPECT_EQ(token->place.line, line) << token->text;
    EXPECT_EQ(token->place.column, column) << token->text;
  }
  const absl::StatusOr<Token> end = lexer.Next();
  EXPECT_EQ(end->place.line, 5);
  EXPECT_EQ(end->place.column, 3);
}

TEST(LexerTest, ErrorsKnowTheirPlace) {
  EXPECT_THAT(ErrorOf("a\n b ?"), StatusIs(kWrong,
                                           "line 2, column 4: unexpected "
                                           "character '?'"));
  EXPECT_THAT(ErrorOf("\n\n   \"x"), StatusIs(kWrong, HasSubstr("line 3, column 4: ")));
}

TEST(LexerTest, StrangeCharactersAreNamed) {
  for (const std::string_view text : {"?", "!", "&", "|", "~", "^", "`", "'", "\\"}) {
    EXPECT_THAT(ErrorOf(text), StatusIs(kWrong, HasSubstr("unexpected character")))
        << text;
  }
  EXPECT_THAT(ErrorOf(std::string_view("\0", 1)), StatusIs(kWrong, HasSubstr("\\x00")));
  EXPECT_THAT(ErrorOf("\xef\xbb\xbf"
                      "a"),
              StatusIs(kWrong, HasSubstr("\\xef")));
  EXPECT_THAT(ErrorOf("\f"), StatusIs(kWrong, HasSubstr("\\x0c")));
}

TEST(LexerTest, DescribesTokensForMessages) {
  const auto described = [](Kind kind, std::string text) {
    return Describe({kind, std::move(text), {}});
  };
  EXPECT_EQ(described(Kind::kEnd, ""), "the end of the text");
  EXPECT_EQ(described(Kind::kName, "map"), "the name map");
  EXPECT_EQ(described(Kind::kNode, "0"), "%0");
  EXPECT_EQ(described(Kind::kLocal, "0"), "$0");
  EXPECT_EQ(described(Kind::kField, "a\nb"), "the field .a\\nb");
  EXPECT_EQ(described(Kind::kNumber, "1.5"), "the number 1.5");
  EXPECT_EQ(described(Kind::kText, "secret"), "a quoted text");
  EXPECT_EQ(described(Kind::kBytes, "x"), "a quoted text");
  EXPECT_EQ(described(Kind::kAttachment, "00"), "@00");
  EXPECT_EQ(described(Kind::kCallNumber, "3"), "#3");
  EXPECT_EQ(described(Kind::kMark, "("), "'('");
  EXPECT_EQ(described(Kind::kName, std::string(1000, 'x')).size(), 9 + 64 + 3);
}

TEST(LexerTest, PlacesAreAddedToErrorsOnly) {
  EXPECT_TRUE(At({3, 4}, absl::OkStatus()).ok());
  EXPECT_THAT(At({3, 4}, absl::NotFoundError("it")),
              StatusIs(absl::StatusCode::kNotFound, "line 3, column 4: it"));
}

TEST(LexerTest, AnyBytesAreTokensOrAnError) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b)};
      EXPECT_THAT(Lexed(text).size(), AllOf(testing::Ge(0), testing::Le(2)));
    }
  }
}

}  // namespace
}  // namespace millrace::ir
