#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/single_merger_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

ir::Cardinality CountOf(const std::string& text) {
  return BehindInputs(text)->cardinality();
}

TEST(ConcatTest, CountsTheRowsOfAllInputs) {
  EXPECT_EQ(CountOf("concat(%0, %1, %0)").rows(), 40);
  EXPECT_TRUE(CountOf("repeat(%0) %5 = concat(%1, %4)").infinite());
  const ir::Cardinality filtered =
      CountOf("filter(%0, predicate={.value > 2}) %5 = concat(%1, %4)");
  EXPECT_FALSE(filtered.known() || filtered.infinite());
}

TEST(ConcatTest, AnAbsurdNumberOfRowsIsUnknown) {
  const std::string most = "range(stop=576460752303423488) ";  // 2^59.
  const std::string eight = "%4, %4, %4, %4, %4, %4, %4, %4";
  EXPECT_TRUE(CountOf(most + "%5 = concat(" + eight + ")").known());
  EXPECT_FALSE(CountOf(most + "%5 = concat(" + eight + ", " + eight + ")").known());
}

TEST(ConcatTest, SizesThatDifferAreUnknown) {
  const ir::Pipeline both = *BehindInputs(
      "batch(%0, size=2, drop_remainder=true) "
      "%5 = batch(%0, size=3, drop_remainder=true) %6 = concat(%4, %5)");
  EXPECT_EQ(both.spec().fields()[0].shape[0], core::kUnknownSize);
}

TEST(ConcatTest, RefusesOtherFields) {
  EXPECT_THAT(
      BehindInputs("concat(%0, %3)"),
      StatusIs(kInvalidArgument, AllOf(HasSubstr("in input 0"), HasSubstr("input 1"),
                                       HasSubstr("rename"))));
}

}  // namespace
}  // namespace millrace::ops
