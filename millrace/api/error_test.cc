#include "millrace/api/error.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace millrace::api {
namespace {

TEST(ErrorTest, ComesBackAsItWas) {
  for (const absl::Status& status :
       {absl::NotFoundError("no such file"), absl::DataLossError("it is damaged"),
        absl::UnauthenticatedError("wrong token"), absl::CancelledError("stop")}) {
    EXPECT_EQ(ToStatus(ToError(status)), status);
  }
}

TEST(ErrorTest, TravelsByTheNameOfItsCode) {
  EXPECT_EQ(ToError(absl::NotFoundError("no such file")),
            (Error{"NOT_FOUND", "no such file"}));
  EXPECT_DEATH(ToError(absl::OkStatus()), "ok");
}

TEST(ErrorTest, IsUnknownWhereNoCodeHasThatName) {
  EXPECT_EQ(ToStatus({"SIDEWAYS", "hm"}), absl::UnknownError("hm"));
}

}  // namespace
}  // namespace millrace::api
