#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using ::testing::HasSubstr;

TEST(PrefetchTest, PassesOnWhatComes) {
  SingleOperator prefetch("prefetch(%0, count=3)");
  const core::Block rows = Numbers(0, 5);
  ASSERT_THAT(prefetch.Push(rows), base::IsOk());
  EXPECT_TRUE(core::SameRows(prefetch.out().blocks[0], rows));
  EXPECT_EQ(prefetch.node().cardinality(), ir::Cardinality::Known(1000));
}

TEST(PrefetchTest, SaysWhyItChangesNothing) {
  const SingleOperator prefetch("prefetch(%0)");
  const core::Spec& input = prefetch.node().inputs()[0].spec();
  EXPECT_THAT(
      prefetch.node().schema().noop_reason({.arguments = prefetch.node().arguments(),
                                            .inputs = absl::MakeConstSpan(&input, 1)}),
      HasSubstr("the engine works ahead by itself"));
}

TEST(PrefetchTest, RefusesACountThatIsNone) {
  EXPECT_THAT(ErrorOf("prefetch(%0, count=-1)"), HasSubstr("count"));
}

}  // namespace
}  // namespace millrace::ops
