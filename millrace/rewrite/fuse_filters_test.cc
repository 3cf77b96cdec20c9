#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/rewrite/cases_test.h"

namespace millrace::rewrite {
namespace {

TEST(FuseFiltersTest, DoesWhatTheGoldenFileSays) {
  EXPECT_THAT(CheckCases("fuse_filters", "fuse_filters"), base::IsOk());
}

}  // namespace
}  // namespace millrace::rewrite
