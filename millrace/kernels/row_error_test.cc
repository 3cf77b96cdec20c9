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

}  // namespace
}  // namespace millrace::kernels
