#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/rewrite/cases_test.h"

namespace millrace::rewrite {
namespace {

TEST(FieldsAsMapsTest, DoesWhatTheGoldenFileSays) {
  EXPECT_THAT(CheckCases("fields_as_maps", "fields_as_maps"), base::IsOk());
}

}  // namespace
}  // namespace millrace::rewrite
