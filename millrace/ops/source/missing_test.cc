#include "millrace/ops/source/missing.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::HasSubstr;

TEST(MissingTest, ReadsWhatTheArgumentSays) {
  EXPECT_THAT(MissingOf("error"), IsOkAndHolds(Missing::kError));
  EXPECT_THAT(MissingOf("default"), IsOkAndHolds(Missing::kDefault));
}

TEST(MissingTest, NamesWhatItMayBe) {
  for (const char* wrong : {"", "Error", "default ", "null"}) {
    EXPECT_THAT(MissingOf(wrong),
                StatusIs(kInvalidArgument,
                         HasSubstr("must be \"error\" or \"default\", not \"")))
        << wrong;
  }
}

}  // namespace
}  // namespace millrace::ops
