#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(UnbatchTest, GivesTheRowsThatBatchesWereMadeOf) {
  SingleOperator unbatch("batch(%0, size=3)\n%2 = unbatch(%1)");
  ASSERT_THAT(unbatch.Push(Numbers(0, 6).Stack(3)), base::IsOk());
  ASSERT_THAT(unbatch.Push(Numbers(6, 8).Stack(2)), base::IsOk());
  EXPECT_THAT(unbatch.Values(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(unbatch.out().blocks[1].IdAt(1), SourceRowId(0, 0, 7));
  EXPECT_EQ(unbatch.node().spec().ToString(), "{value: int64}");
}

TEST(UnbatchTest, RefusesRowsThatAreNoBatches) {
  EXPECT_THAT(ErrorOf("unbatch(%0)"), HasSubstr("field value has no leading axis"));
}

}  // namespace
}  // namespace millrace::ops
