#include "millrace/exec/copies.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

using ::testing::HasSubstr;

std::string Written(const std::string& text) { return ir::Print(MustParse(text)).text; }

std::string CopiedText(const std::string& text, int64_t copies) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  return ir::Print(Copied(MustParse(text), copies, catalog).value()).text;
}

TEST(CopiesTest, FollowOneAnotherBeforeTheLastBatch) {
  EXPECT_EQ(CopiedText("%0 = range(stop=9)\n%1 = batch(%0, size=4)\n"
                       "%2 = map(%1, function={x: .value})\n",
                       3),
            Written("%0 = range(stop=9)\n%1 = repeat(%0, count=3)\n"
                    "%2 = batch(%1, size=4)\n%3 = map(%2, function={x: .value})\n"));
}

TEST(CopiesTest, EndByThemselvesWhereSomethingLooksAtSeveralBatches) {
  EXPECT_EQ(CopiedText("%0 = range(stop=9)\n%1 = batch(%0, size=4)\n"
                       "%2 = take(%1, count=1)\n",
                       2),
            Written("%0 = range(stop=9)\n%1 = batch(%0, size=4)\n"
                    "%2 = take(%1, count=1)\n%3 = repeat(%2, count=2)\n"));
}

TEST(CopiesTest, OfWhatIsNotBatchedFollowOneAnother) {
  EXPECT_EQ(CopiedText("%0 = range(stop=9)\n", 2),
            Written("%0 = range(stop=9)\n%1 = repeat(%0, count=2)\n"));
}

TEST(CopiesTest, OneIsThePipelineItself) {
  EXPECT_EQ(CopiedText("%0 = range(stop=9)\n", 1), Written("%0 = range(stop=9)\n"));
}

TEST(CopiesTest, NoneIsAnError) {
  EXPECT_THAT(
      Copied(MustParse("%0 = range(stop=9)\n"), 0, ops::DefaultLibrary().catalog()),
      base::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0")));
}

}  // namespace
}  // namespace millrace::exec
