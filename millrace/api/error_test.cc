#include "millrace/api/error.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace millrace::api {
namespace {

TEST(ErrorTest, ComesBackAsItWas) {
  for (const absl::Status& status :
       {absl::NotFoundError("no such file"), absl::DataLossError("it is damaged"),
        absl::UnauthenticatedError("wrong token"), absl::CancelledError("stop")}) {
    EXPECT_EQ(ToStatus(absl::StatusCodeToString(status.code()),
                       std::string(status.message())),
              status);
  }
}

TEST(ErrorTest, IsUnknownWhereNoCodeHasThatName) {
  EXPECT_EQ(ToStatus("SIDEWAYS", "hm"), absl::UnknownError("hm"));
}

}  // namespace
}  // namespace millrace::api
