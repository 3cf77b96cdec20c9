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

constexpr char kTwo[] = "map(%0, function={a: .value, b: .value + 1})\n%2 = ";

core::Block TwoFields() {
  const core::Block one = Numbers(0, 3);
  return core::Block(3, core::FieldNames{"a", "b"},
                     {one.columns()[0], Numbers(1, 4).columns()[0]})
      .WithIds(*one.ids());
}

TEST(SelectTest, KeepsFieldsInTheOrderGiven) {
  SingleOperator select(std::string(kTwo) + "select(%1, fields=[\"b\", \"a\"])");
  ASSERT_THAT(select.Push(TwoFields()), base::IsOk());
  EXPECT_EQ(select.node().spec().ToString(), "{b: int64, a: int64}");
  EXPECT_THAT(select.out().blocks[0].names(), ElementsAre("b", "a"));
  EXPECT_THAT(select.Values("b"), ElementsAre(1, 2, 3));
  EXPECT_EQ(select.out().blocks[0].IdAt(2), SourceRowId(0, 0, 2));
}

TEST(SelectTest, DropLeavesFieldsOut) {
  SingleOperator drop(std::string(kTwo) + "drop(%1, fields=[\"a\"])");
  ASSERT_THAT(drop.Push(TwoFields()), base::IsOk());
  EXPECT_THAT(drop.out().blocks[0].names(), ElementsAre("b"));
  EXPECT_EQ(drop.node().spec().ToString(), "{b: int64}");
}

TEST(SelectTest, RenameKeepsTheirPlaces) {
  SingleOperator rename(std::string(kTwo) +
                        "rename(%1, from=[\"a\", \"b\"], to=[\"b\", \"a\"])");
  ASSERT_THAT(rename.Push(TwoFields()), base::IsOk());
  EXPECT_EQ(rename.node().spec().ToString(), "{b: int64, a: int64}");
  EXPECT_THAT(rename.Values("b"), ElementsAre(0, 1, 2));
}

TEST(SelectTest, RefusesFieldsThatAreNotThere) {
  EXPECT_THAT(ErrorOf("select(%0, fields=[\"x\"])"),
              HasSubstr("there is no field x; there are value"));
  EXPECT_THAT(ErrorOf("drop(%0, fields=[\"x\"])"), HasSubstr("there is no field x"));
  EXPECT_THAT(ErrorOf("rename(%0, from=[\"x\"], to=[\"y\"])"),
              HasSubstr("there is no field x"));
  EXPECT_THAT(ErrorOf("rename(%0, from=[\"value\"], to=[])"),
              HasSubstr("must be of one length"));
  EXPECT_THAT(ErrorOf("select(%0, fields=[\"value\", \"value\"])"),
              HasSubstr("two fields would be called value"));
}

}  // namespace
}  // namespace millrace::ops
