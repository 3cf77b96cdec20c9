#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/ir/text.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/dataset.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/transform/rows_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ScanTest, TheStateGoesFromRowToRow) {
  SingleOperator scan(
      "scan(%0, state=\"{sum: int64}\", function={value: .value, so_far: "
      ".\"state.sum\", "
      "\"state.sum\": .\"state.sum\" + .value})");
  EXPECT_EQ(scan.node().spec().ToString(), "{value: int64, so_far: int64}");
  ASSERT_THAT(scan.Push(NumberBlock({3, 4})), IsOk());
  ASSERT_THAT(scan.Push(NumberBlock({5, 6})), IsOk());
  EXPECT_THAT(scan.Values("so_far"), ElementsAre(0, 3, 7, 12));
  EXPECT_TRUE(scan.out().blocks[0].has_ids());
}

TEST(ScanTest, TheStateBeginsWithWhatIsGivenAndStaysWhereNothingIs) {
  SingleOperator scan(
      "scan(%0, state=\"{a: int64, b: float32[2]}\", initial=[7, 0.5], function={x: "
      ".\"state.a\" + cast(sum(.\"state.b\"), dtype=\"int64\"), \"state.a\": .value})");
  ASSERT_THAT(scan.Push(NumberBlock({3, 4})), IsOk());
  EXPECT_THAT(scan.Values("x"), ElementsAre(8, 4));
}

TEST(ScanTest, ARowThatFailsLeavesTheStateAsItWas) {
  LeavesOut left_out;
  SingleOperator scan(
      "scan(%0, state=\"{n: int64}\", function={x: 12 // .value + .\"state.n\", "
      "\"state.n\": "
      ".\"state.n\" + 100})",
      SingleOperator::TestLane(left_out));
  ASSERT_THAT(scan.Push(NumberBlock({3, 0, 4})), IsOk());
  EXPECT_THAT(scan.Values("x"), ElementsAre(4, 103));
  EXPECT_EQ(left_out.reasons.size(), 1);
}

TEST(ScanTest, ReduceGivesTheLastState) {
  SingleOperator reduce(
      "reduce(%0, state=\"{sum: int64, most: int64}\", initial=[0, -1], "
      "function={\"state.sum\": .\"state.sum\" + .value, \"state.most\": "
      "maximum(.\"state.most\", "
      ".value)})");
  EXPECT_EQ(reduce.node().cardinality().rows(), 1);
  ASSERT_THAT(reduce.Push(NumberBlock({3, 9})), IsOk());
  ASSERT_THAT(reduce.Push(NumberBlock({5})), IsOk());
  EXPECT_TRUE(reduce.out().blocks.empty());
  ASSERT_THAT(reduce.Finish(), IsOk());
  EXPECT_THAT(reduce.Values("sum"), ElementsAre(17));
  EXPECT_THAT(reduce.Values("most"), ElementsAre(9));
}

TEST(ScanTest, ReduceOfNothingIsTheFirstState) {
  SingleOperator reduce(
      "reduce(%0, state=\"{n: int64}\", initial=[4], function={\"state.n\": .value})");
  ASSERT_THAT(reduce.Finish(), IsOk());
  EXPECT_THAT(reduce.Values("n"), ElementsAre(4));
}

TEST(ScanTest, CanBeWrittenInCpp) {
  const Dataset dataset =
      Range({.stop = 5})
          .Scan(
              [](Row row, Rng) {
                return Fields{{"so_far", row["state.sum"]},
                              {"state.sum", row["state.sum"] + row["value"]}};
              },
              {.state = "{sum: int64}"});
  ASSERT_THAT(dataset.pipeline(), IsOk());
  EXPECT_THAT(ir::Print(*dataset.pipeline()).text,
              HasSubstr("scan(%0, state=\"{sum: int64}\""));
}

TEST(ScanTest, BadStatesAreRefused) {
  const auto error = [](const std::string& arguments) {
    return ErrorOf("scan(%0, " + arguments + ")");
  };
  EXPECT_THAT(error("function={x: 1}, state=\"{a: int64}\""),
              HasSubstr("argument state must come before the function"));
  EXPECT_THAT(error("state=\"{a: int64[?]}\", function={x: 1}"),
              HasSubstr("field a must have sizes that are known"));
  EXPECT_THAT(error("state=\"{}\", function={x: 1}"), HasSubstr("names no field"));
  EXPECT_THAT(error("state=\"{a: int64}\", function={x: .\"state.b\"}"),
              HasSubstr("b"));
  EXPECT_THAT(error("state=\"{a: int64}\", function={x: 1, \"state.a\": true}"),
              HasSubstr("another type than the state {a: int64} says"));
  EXPECT_THAT(error("state=\"{a: int64}\", function={x: 1, \"state.b\": 1}"),
              HasSubstr("state.b, which is no field of"));
  EXPECT_THAT(error("state=\"{a: int64}\", initial=[1, 2], function={x: 1}"),
              HasSubstr("2 numbers for 1 fields"));
  EXPECT_THAT(error("state=\"{a: int8}\", initial=[300], function={x: 1}"),
              HasSubstr("300, which field a of int8 cannot hold"));
  EXPECT_THAT(error("state=\"{a: int64}\", function={\"state.a\": 1}"),
              HasSubstr("use reduce"));
  EXPECT_THAT(ErrorOf("reduce(%0, state=\"{a: int64}\", function={x: 1})"),
              HasSubstr("use scan"));
}

}  // namespace
}  // namespace millrace::ops
