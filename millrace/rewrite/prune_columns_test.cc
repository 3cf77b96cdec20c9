#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/rewrite/cases_test.h"

namespace millrace::rewrite {
namespace {

TEST(PruneColumnsTest, DoesWhatTheGoldenFileSays) {
  EXPECT_THAT(CheckCases("prune_columns", "prune_columns"), base::IsOk());
}

}  // namespace
}  // namespace millrace::rewrite
