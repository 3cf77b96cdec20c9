#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/rewrite/cases_test.h"

namespace millrace::rewrite {
namespace {

TEST(DropNoOpsTest, DoesWhatTheGoldenFileSays) {
  EXPECT_THAT(CheckCases("drop_no_ops", "drop_no_ops"), base::IsOk());
}

}  // namespace
}  // namespace millrace::rewrite
