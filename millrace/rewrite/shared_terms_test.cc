// Equal terms of a function are computed once. There is no pass for it: expressions are
// made that way (`ExpressionBuilder`), and every rewrite makes its own with the same
// builder. This is where that promise is held.

#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/cases_test.h"
#include "millrace/rewrite/pass.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::rewrite {
namespace {

// The one function that two maps become; `first` makes x and v.
ir::Expression Fused(const std::string& first, const std::string& second) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const absl::StatusOr<ir::Pipeline> pipeline =
      ir::Parse(base::StrCat("%0 = range(stop=3) %1 = map(%0, function={", first,
                             "}) %2 = map(%1, function={", second, "})"),
                {}, catalog);
  EXPECT_THAT(pipeline, base::IsOk());
  return MapFunction(Rewrite(*pipeline, catalog)->after);
}

TEST(SharedTermsTest, DoWhatTheGoldenFileSays) {
  EXPECT_THAT(CheckCases("shared_terms", ""), base::IsOk());
}

TEST(SharedTermsTest, WhatTwoMapsComputeIsOneTerm) {
  const ir::Expression function =
      Fused("x: .value * 5, v: .value", "a: .x, b: .v * 5, c: .v * 6");
  EXPECT_EQ(function.results()[0].term, function.results()[1].term);
  EXPECT_NE(function.results()[0].term, function.results()[2].term);
}

TEST(SharedTermsTest, WhatTwoMapsDrawIsTwoTerms) {
  const ir::Expression function =
      Fused("x: uniform(0.0, 1.0)", "a: .x, b: uniform(0.0, 1.0), c: .x");
  EXPECT_NE(function.results()[0].term, function.results()[1].term);
  EXPECT_EQ(function.results()[0].term, function.results()[2].term);
}

}  // namespace
}  // namespace millrace::rewrite
