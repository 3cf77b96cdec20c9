#include "millrace/ir/value_parser.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/lexer.h"
#include "millrace/ir/token_reader.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

// The value that makes up the whole text.
absl::StatusOr<Value> Parsed(std::string_view text,
                             const Attachments& attachments = {}) {
  TokenReader reader = TRY(TokenReader::Open(text));
  Value value = TRY(ParseValue(reader, attachments));
  if (reader.token().kind != Token::Kind::kEnd) return reader.Unexpected("the end");
  return value;
}

absl::StatusOr<int64_t> CallNumber(std::string_view text) {
  TokenReader reader = TRY(TokenReader::Open(text));
  TRY(reader.Advance());
  return ParseCallNumber(reader);
}

TEST(ValueParserTest, ReadsWords) {
  EXPECT_THAT(Parsed("none"), IsOkAndHolds(Value()));
  EXPECT_THAT(Parsed("true"), IsOkAndHolds(Value(true)));
  EXPECT_THAT(Parsed("false"), IsOkAndHolds(Value(false)));
}

TEST(ValueParserTest, ReadsNumbers) {
  EXPECT_THAT(Parsed("12"), IsOkAndHolds(Value(12)));
  EXPECT_THAT(Parsed("-12"), IsOkAndHolds(Value(-12)));
  EXPECT_THAT(Parsed("- 12"), IsOkAndHolds(Value(-12)));
  EXPECT_THAT(Parsed("1.5e3"), IsOkAndHolds(Value(1500.0)));
  EXPECT_THAT(Parsed("-0.0"), IsOkAndHolds(Value(-0.0)));
  EXPECT_THAT(Parsed("-9223372036854775808"),
              IsOkAndHolds(Value(std::numeric_limits<int64_t>::min())));
  EXPECT_THAT(Parsed("-inf"),
              IsOkAndHolds(Value(-std::numeric_limits<double>::infinity())));
  EXPECT_THAT(Parsed("nan"),
              IsOkAndHolds(Value(std::numeric_limits<double>::quiet_NaN())));
}

TEST(ValueParserTest, ReadsTextsAndBytesAlike) {
  EXPECT_THAT(Parsed("\"a b\""), IsOkAndHolds(Value("a b")));
  EXPECT_THAT(Parsed("b\"\\xff\""), IsOkAndHolds(Value("\xff")));
}

TEST(ValueParserTest, ReadsLists) {
  EXPECT_THAT(Parsed("[]"), IsOkAndHolds(Value(List{})));
  EXPECT_THAT(Parsed("[1, -2.5, \"x\", none, [true]]"),
              IsOkAndHolds(Value(List{1, -2.5, "x", Value(), List{true}})));
  EXPECT_THAT(Parsed("[1,]"), IsOkAndHolds(Value(List{1})));
  EXPECT_THAT(Parsed("[[], [[], 1]]"),
              IsOkAndHolds(Value(List{List{}, List{List{}, 1}})));
}

TEST(ValueParserTest, ReadsAttachments) {
  Attachments attachments;
  attachments.Add(Attachment("content"));
  const std::string name = base::ToHex(base::Sha256Of("content"));
  EXPECT_THAT(Parsed(base::StrCat("@", name), attachments),
              IsOkAndHolds(Value(Attachment("content"))));
  EXPECT_THAT(Parsed(base::StrCat("[@", name, "]"), attachments),
              IsOkAndHolds(Value(List{Attachment("content")})));
}

TEST(ValueParserTest, AttachmentsThatAreNotThereAreNamed) {
  const std::string name = base::ToHex(base::Sha256Of("content"));
  EXPECT_THAT(
      Parsed(base::StrCat(" @", name)),
      StatusIs(absl::StatusCode::kNotFound,
               base::StrCat("line 1, column 2: attachment is missing: @", name)));
}

TEST(ValueParserTest, NamesOfAttachmentsAreSixtyFourDigits) {
  for (const std::string& name :
       {std::string(), std::string("12"), std::string(63, 'a'), std::string(65, 'a'),
        std::string(64, 'A'), std::string(64, 'g'), std::string(1'000'000, 'a')}) {
    EXPECT_THAT(Parsed("@" + name),
                StatusIs(kWrong, AllOf(HasSubstr("line 1, column 1"),
                                       HasSubstr("64 hexadecimal digits"),
                                       testing::SizeIs(testing::Lt(250)))));
  }
}

TEST(ValueParserTest, SuffixesAreForExpressions) {
  EXPECT_THAT(Parsed("3u8"), StatusIs(kWrong,
                                      "line 1, column 1: an argument's number "
                                      "takes no suffix"));
  EXPECT_THAT(Parsed("-nanf32"), StatusIs(kWrong, HasSubstr("no suffix")));
}

TEST(ValueParserTest, SaysWhereAValueIsMissing) {
  EXPECT_THAT(Parsed(""),
              StatusIs(kWrong, HasSubstr("expected a value, found the end")));
  EXPECT_THAT(
      Parsed("maybe"),
      StatusIs(kWrong, "line 1, column 1: expected a value, found the name maybe"));
  EXPECT_THAT(Parsed("-true"), StatusIs(kWrong, HasSubstr("line 1, column 2")));
  EXPECT_THAT(Parsed("--1"), StatusIs(kWrong, HasSubstr("found '-'")));
  EXPECT_THAT(Parsed("[1 2]"), StatusIs(kWrong, HasSubstr("expected ']'")));
  EXPECT_THAT(Parsed("[1"), StatusIs(kWrong, HasSubstr("expected ']'")));
  EXPECT_THAT(Parsed("[,]"), StatusIs(kWrong, HasSubstr("expected a value")));
  EXPECT_THAT(Parsed("{.x}"), StatusIs(kWrong, HasSubstr("found '{'")));
  EXPECT_THAT(Parsed("%0"), StatusIs(kWrong, HasSubstr("found %0")));
}

TEST(ValueParserTest, NumbersThatDoNotFitAreRefused) {
  EXPECT_THAT(Parsed("9223372036854775808"),
              StatusIs(kWrong, HasSubstr("does not fit")));
  EXPECT_THAT(Parsed("1e999"), StatusIs(kWrong, HasSubstr("line 1, column 1: number")));
}

TEST(ValueParserTest, ListsNestToALimit) {
  const auto nested = [](int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_THAT(Parsed(nested(kNestingMax)), IsOk());
  EXPECT_THAT(Parsed(nested(kNestingMax + 2)),
              StatusIs(kWrong, HasSubstr("less nesting")));
  EXPECT_THAT(Parsed(nested(100'000)), StatusIs(kWrong, HasSubstr("less nesting")));
  EXPECT_THAT(Parsed(std::string(100'000, '[')), Not(IsOk()));
}

TEST(ValueParserTest, ReadsCallNumbers) {
  EXPECT_THAT(CallNumber("f#0"), IsOkAndHolds(0));
  EXPECT_THAT(CallNumber("f#65535("), IsOkAndHolds(65535));
  EXPECT_THAT(CallNumber("f#007"), IsOkAndHolds(7));
  EXPECT_THAT(CallNumber("f(3)"), IsOkAndHolds(kNoCallNumber));
  EXPECT_THAT(CallNumber("f"), IsOkAndHolds(kNoCallNumber));
}

TEST(ValueParserTest, CallNumbersAreBounded) {
  for (const std::string_view text :
       {"f#65536", "f#4294967296", "f#18446744073709551616",
        "f#99999999999999999999999"}) {
    EXPECT_THAT(CallNumber(text), StatusIs(kWrong,
                                           "line 1, column 2: call numbers go "
                                           "from 0 to 65535"))
        << text;
  }
}

}  // namespace
}  // namespace millrace::ir
