#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/cases_test.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::rewrite {
namespace {

TEST(FuseMapsTest, DoesWhatTheGoldenFileSays) {
  EXPECT_THAT(CheckCases("fuse_maps", "fuse_maps"), base::IsOk());
}

// A sum of so many terms: x + x * 2 + x * 3 + ...
std::string LongSum(int terms) {
  std::string sum = ".value";
  for (int i = 2; i <= terms; ++i) sum += base::StrCat(" + .value * ", i);
  return sum;
}

TEST(FuseMapsTest, LeavesMapsApartThatTogetherAreTooLarge) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const std::string map = base::StrCat("function={value: ", LongSum(15'000), "})\n");
  const absl::StatusOr<ir::Pipeline> pipeline = ir::Parse(
      base::StrCat("%0 = range(stop=9)\n%1 = map(%0, ", map, "%2 = map(%1, ", map), {},
      catalog);
  ASSERT_THAT(pipeline, base::IsOk());
  const absl::StatusOr<Rewritten> rewritten = Rewrite(*pipeline, catalog);
  ASSERT_THAT(rewritten, base::IsOk());
  EXPECT_EQ(rewritten->after.Nodes().size(), 3U);
}

}  // namespace
}  // namespace millrace::rewrite
