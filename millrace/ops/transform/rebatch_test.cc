#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/define.h"
#include "millrace/ops/library.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using ::testing::HasSubstr;

ir::Pipeline Node(const std::string& rebatch) {
  return *ir::Parse("%0 = range(stop=1000)\n%1 = batch(%0, size=4)\n%2 = " + rebatch,
                    {}, DefaultLibrary().catalog());
}

TEST(RebatchTest, IsRunAsUnbatchAndBatch) {
  const std::vector<Step> steps =
      DefaultLibrary().StepsOf(Node("rebatch(%1, size=6, drop_remainder=true)"));
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].name, "unbatch");
  EXPECT_EQ(steps[1].name, "batch");
  EXPECT_EQ(steps[1].arguments["size"], ir::Value(6));
  EXPECT_EQ(steps[1].arguments["drop_remainder"], ir::Value(true));
}

TEST(RebatchTest, ItsSpecIsThatOfBatchesOfTheNewSize) {
  EXPECT_EQ(Node("rebatch(%1, size=6)").spec().ToString(), "{value: int64[?]}");
  EXPECT_EQ(Node("rebatch(%1, size=6, drop_remainder=true)").spec().ToString(),
            "{value: int64[6]}");
  EXPECT_EQ(Node("rebatch(%1, size=6)").cardinality(), ir::Cardinality::Unknown());
}

TEST(RebatchTest, RefusesRowsThatAreNoBatches) {
  EXPECT_THAT(ErrorOf("rebatch(%0, size=2)"),
              HasSubstr("field value has no leading axis"));
  EXPECT_THAT(ErrorOf("rebatch(%0, size=0)"), HasSubstr("must be at least 1"));
}

}  // namespace
}  // namespace millrace::ops
