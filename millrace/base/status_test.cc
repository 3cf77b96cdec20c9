#include "millrace/base/status.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::base {
namespace {

using testing::Eq;
using testing::HasSubstr;
using testing::Not;
using testing::Pointee;

absl::StatusOr<int> Half(int number) {
  if (number % 2 != 0) return absl::InvalidArgumentError("odd number");
  return number / 2;
}

absl::Status MustBeSmall(int number) {
  if (number > 9) return absl::OutOfRangeError("large number");
  return absl::OkStatus();
}

absl::StatusOr<int> SmallQuarter(int number) {
  TRY(MustBeSmall(number));
  const int half = TRY(Half(number));
  return TRY(Half(half));
}

absl::Status CheckSmallQuarter(int number) {
  TRY(SmallQuarter(number));
  return absl::OkStatus();
}

TEST(StatusTest, TryYieldsTheValue) {
  EXPECT_THAT(SmallQuarter(8), IsOkAndHolds(2));
  EXPECT_THAT(CheckSmallQuarter(8), IsOk());
}

TEST(StatusTest, TryReturnsTheFirstError) {
  EXPECT_THAT(SmallQuarter(12), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(SmallQuarter(7),
              StatusIs(absl::StatusCode::kInvalidArgument, "odd number"));
  EXPECT_THAT(SmallQuarter(6),
              StatusIs(absl::StatusCode::kInvalidArgument, "odd number"));
  EXPECT_THAT(CheckSmallQuarter(6), StatusIs(absl::StatusCode::kInvalidArgument));
}

absl::StatusOr<int> Eighth(int number) {
  return TRY(Half(TRY(Half(TRY(Half(number))))));
}

TEST(StatusTest, TriesNest) {
  EXPECT_THAT(Eighth(24), IsOkAndHolds(3));
  EXPECT_THAT(Eighth(12), StatusIs(absl::StatusCode::kInvalidArgument));
}

absl::StatusOr<std::unique_ptr<int>> Boxed(int number) {
  if (number < 0) return absl::NotFoundError("none");
  return std::make_unique<int>(number);
}

absl::StatusOr<std::unique_ptr<int>> Passed(absl::StatusOr<std::unique_ptr<int>> box) {
  std::unique_ptr<int> inner = TRY(std::move(box));
  ++*inner;
  return inner;
}

TEST(StatusTest, TryMovesWhatCannotBeCopied) {
  EXPECT_THAT(Passed(Boxed(4)), IsOkAndHolds(Pointee(5)));
  EXPECT_THAT(Passed(Boxed(-1)), StatusIs(absl::StatusCode::kNotFound));
}

TEST(StatusTest, TryCopiesFromAVariable) {
  const absl::StatusOr<std::string> name = std::string("lane");
  const auto length = [&]() -> absl::StatusOr<size_t> { return TRY(name).size(); };
  EXPECT_THAT(length(), IsOkAndHolds(4));
  EXPECT_THAT(name, IsOkAndHolds(std::string("lane")));
}

TEST(StatusTest, TryTakesExpressionsWithCommas) {
  const auto pair = [](int a, int b) -> absl::StatusOr<std::pair<int, int>> {
    return std::pair<int, int>(a, b);
  };
  const auto sum = [&]() -> absl::StatusOr<int> {
    const auto [a, b] = TRY(pair(1, 2));
    return a + b;
  };
  EXPECT_THAT(sum(), IsOkAndHolds(3));
}

TEST(StatusTest, TryKeepsToItsBranch) {
  const auto run = [](bool wanted) -> absl::Status {
    if (wanted)
      TRY(MustBeSmall(10));
    else
      TRY(MustBeSmall(1));
    return absl::OkStatus();
  };
  EXPECT_THAT(run(true), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(run(false), IsOk());
}

TEST(StatusTest, AnnotatePutsTheContextFirst) {
  EXPECT_THAT(Annotate(absl::DataLossError("bad checksum"), "node 3 (read)"),
              StatusIs(absl::StatusCode::kDataLoss, "node 3 (read): bad checksum"));
}

TEST(StatusTest, AnnotateKeepsOkAndPayloads) {
  EXPECT_THAT(Annotate(absl::OkStatus(), "context"), IsOk());
  absl::Status status = absl::UnavailableError("gone");
  status.SetPayload("url", absl::Cord("where"));
  EXPECT_EQ(Annotate(status, "context").GetPayload("url"), absl::Cord("where"));
}

TEST(StatusTest, MatchersTellErrorsApart) {
  EXPECT_THAT(absl::AbortedError("a"), Not(IsOk()));
  EXPECT_THAT(Half(1), Not(IsOk()));
  EXPECT_THAT(Half(1), Not(IsOkAndHolds(0)));
  EXPECT_THAT(Half(2), Not(IsOkAndHolds(2)));
  EXPECT_THAT(Half(2), Not(StatusIs(absl::StatusCode::kInvalidArgument)));
  EXPECT_THAT(Half(1), Not(StatusIs(absl::StatusCode::kInvalidArgument, "even")));
  EXPECT_THAT(Half(1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("odd")));
}

TEST(StatusTest, MatchersSayWhatTheyFound) {
  testing::StringMatchResultListener listener;
  EXPECT_FALSE(testing::ExplainMatchResult(IsOk(), Half(1), &listener));
  EXPECT_THAT(listener.str(), HasSubstr("odd number"));
  EXPECT_THAT(testing::DescribeMatcher<absl::Status>(
                  StatusIs(absl::StatusCode::kNotFound, Eq(std::string("x")))),
              HasSubstr("NOT_FOUND whose message is equal to \"x\""));
}

}  // namespace
}  // namespace millrace::base
