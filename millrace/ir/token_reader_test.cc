#include "millrace/ir/token_reader.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/ir/lexer.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::HasSubstr;
using testing::Not;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

TokenReader Open(std::string_view text) {
  absl::StatusOr<TokenReader> reader = TokenReader::Open(text);
  CHECK(reader.ok()) << reader.status();
  return *std::move(reader);
}

TEST(TokenReaderTest, SeesTwoTokensAhead) {
  TokenReader reader = Open("a ( b");
  EXPECT_TRUE(reader.token().IsName("a"));
  EXPECT_TRUE(reader.ahead().IsMark("("));
  EXPECT_THAT(reader.Advance(), IsOk());
  EXPECT_TRUE(reader.token().IsMark("("));
  EXPECT_TRUE(reader.ahead().IsName("b"));
}

TEST(TokenReaderTest, StaysAtTheEnd) {
  TokenReader reader = Open("a");
  for (int i = 0; i < 5; ++i) EXPECT_THAT(reader.Advance(), IsOk());
  EXPECT_EQ(reader.token().kind, Token::Kind::kEnd);
  EXPECT_EQ(reader.ahead().kind, Token::Kind::kEnd);
}

TEST(TokenReaderTest, TakesTheTokenAndGoesOn) {
  TokenReader reader = Open("a b");
  const absl::StatusOr<Token> taken = reader.Take();
  ASSERT_THAT(taken, IsOk());
  EXPECT_EQ(taken->text, "a");
  EXPECT_EQ(reader.token().text, "b");
}

TEST(TokenReaderTest, TakesAMarkOnlyIfItIsThere) {
  TokenReader reader = Open(", )");
  EXPECT_THAT(reader.TakeIf(")"), IsOkAndHolds(false));
  EXPECT_THAT(reader.TakeIf(","), IsOkAndHolds(true));
  EXPECT_THAT(reader.TakeIf(")"), IsOkAndHolds(true));
  EXPECT_THAT(reader.TakeIf(")"), IsOkAndHolds(false));
}

TEST(TokenReaderTest, ANameIsNoMark) {
  TokenReader reader = Open("and \"(\"");
  EXPECT_THAT(reader.TakeIf("and"), IsOkAndHolds(false));
  EXPECT_THAT(reader.Advance(), IsOk());
  EXPECT_THAT(reader.TakeIf("("), IsOkAndHolds(false));
}

TEST(TokenReaderTest, SaysWhatWasExpectedAndFound) {
  TokenReader reader = Open("\n  a");
  EXPECT_THAT(reader.Expect("("),
              StatusIs(kWrong, "line 2, column 3: expected '(', found the name a"));
  EXPECT_THAT(
      reader.Unexpected("a number"),
      StatusIs(kWrong, "line 2, column 3: expected a number, found the name a"));
}

TEST(TokenReaderTest, ErrorsNameTheOperatorBetweenPlaceAndMessage) {
  TokenReader reader = Open("a");
  reader.SetOperator("batch");
  EXPECT_THAT(reader.Expect("("), StatusIs(kWrong,
                                           "line 1, column 1: batch: expected "
                                           "'(', found the name a"));
  EXPECT_THAT(reader.Placed(reader.token(), absl::NotFoundError("gone")),
              StatusIs(absl::StatusCode::kNotFound, "line 1, column 1: batch: gone"));
  reader.SetOperator("");
  EXPECT_THAT(reader.Placed(reader.token(), absl::NotFoundError("gone")),
              StatusIs(absl::StatusCode::kNotFound, "line 1, column 1: gone"));
}

TEST(TokenReaderTest, ResultsThatAreFinePassThrough) {
  TokenReader reader = Open("a");
  EXPECT_THAT(reader.Placed(reader.token(), absl::StatusOr<int>(3)), IsOkAndHolds(3));
  EXPECT_THAT(
      reader.Placed(reader.token(), absl::StatusOr<int>(absl::NotFoundError("x"))),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("line 1, column 1: x")));
}

TEST(TokenReaderTest, ErrorsOfTheLexerComeOut) {
  EXPECT_THAT(TokenReader::Open("?"), StatusIs(kWrong, HasSubstr("line 1, column 1")));
  EXPECT_THAT(TokenReader::Open("a ?"), Not(IsOk()));
  TokenReader reader = Open("a b ?");
  EXPECT_THAT(reader.Advance(), StatusIs(kWrong, HasSubstr("line 1, column 5")));
}

TEST(TokenReaderTest, AVeryLongTextIsRefusedOnTheWay) {
  const std::string text(kTokensMax + 1, '(');
  TokenReader reader = Open(text);
  absl::Status status;
  int64_t taken = 0;
  for (; status.ok() && taken < kTokensMax + 5; ++taken) status = reader.Advance();
  EXPECT_THAT(status, StatusIs(kWrong, HasSubstr("the text is too long: more than")));
  EXPECT_EQ(taken, kTokensMax - 1);
}

}  // namespace
}  // namespace millrace::ir
