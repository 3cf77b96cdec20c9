#include "millrace/kernels/row_error.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::kernels {
namespace {

using base::StatusIs;

TEST(RowErrorTest, NamesTheRow) {
  EXPECT_THAT(RowError(7, "division by zero"),
              StatusIs(absl::StatusCode::kDataLoss, "row 7: division by zero"));
}

TEST(RowErrorTest, BlamesTheRowForWhatIsWrongWithIt) {
  EXPECT_THAT(RowErrorOf(3, absl::InvalidArgumentError("row is not rectangular")),
              StatusIs(absl::StatusCode::kDataLoss, "row 3: row is not rectangular"));
}

TEST(RowErrorTest, DoesNotBlameTheRowForTheWorld) {
  EXPECT_THAT(RowErrorOf(3, absl::ResourceExhaustedError("memory is full")),
              StatusIs(absl::StatusCode::kResourceExhausted, "memory is full"));
}

TEST(RowErrorTest, TellsRowsFromTheWorld) {
  EXPECT_TRUE(IsOfRow(RowError(7, "division by zero")));
  EXPECT_TRUE(IsOfRow(absl::InvalidArgumentError("row is not rectangular")));
  EXPECT_TRUE(IsOfRow(absl::OutOfRangeError("index 3 of 2")));
  EXPECT_FALSE(IsOfRow(absl::ResourceExhaustedError("memory is full")));
  EXPECT_FALSE(IsOfRow(absl::UnavailableError("the disk is gone")));
  EXPECT_FALSE(IsOfRow(absl::OkStatus()));
}

TEST(RowErrorTest, TheOnlyRowHasNoNumber) {
  EXPECT_THAT(OfOnlyRow(absl::DataLossError("modulo: row 0: division by zero")),
              StatusIs(absl::StatusCode::kDataLoss, "modulo: division by zero"));
  EXPECT_THAT(OfOnlyRow(absl::OutOfRangeError("index 3 of 2")),
              StatusIs(absl::StatusCode::kDataLoss, "index 3 of 2"));
}

}  // namespace
}  // namespace millrace::kernels
