#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/rewrite/cases_test.h"

namespace millrace::rewrite {
namespace {

TEST(FilterEarlyTest, DoesWhatTheGoldenFileSays) {
  EXPECT_THAT(CheckCases("filter_early", "filter_early"), base::IsOk());
}

}  // namespace
}  // namespace millrace::rewrite
