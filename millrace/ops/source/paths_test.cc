#include "millrace/ops/source/paths.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::HasSubstr;

TEST(PathsTest, GiveTheSpecWhenThereAreSome) {
  const core::Spec spec({{"text", core::DType::kString, {}}});
  EXPECT_THAT(SpecOfPaths({"a", "b*"}, spec), IsOkAndHolds(spec));
}

TEST(PathsTest, NoneOrAnEmptyOneIsAMistake) {
  EXPECT_THAT(SpecOfPaths({}, {}),
              StatusIs(kInvalidArgument, HasSubstr("must name a file or pattern")));
  EXPECT_THAT(SpecOfPaths({"a", ""}, {}),
              StatusIs(kInvalidArgument, HasSubstr("has an empty path")));
}

}  // namespace
}  // namespace millrace::ops
