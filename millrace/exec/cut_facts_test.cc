#include "millrace/exec/cut_facts.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/text.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/cutting.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

using ::testing::StartsWith;

lanes::CutFacts FactsOf(std::string_view text) {
  return CutFactsOf(MustParse(text).Nodes(), true);
}

TEST(CutFactsTest, KnowsRowsPerBatchThroughAllBatching) {
  const lanes::CutFacts facts =
      FactsOf("%0 = range(stop=9) %1 = batch(%0, size=4) %2 = batch(%1, size=8)");
  EXPECT_EQ(facts.batch_rows, 32);
  EXPECT_FALSE(facts.counts_change);
  EXPECT_FALSE(facts.shuffled);
}

TEST(CutFactsTest, CountsAShuffleWindowInRowsOfTheSource) {
  const lanes::CutFacts facts = FactsOf(
      "%0 = range(stop=9) %1 = shuffle(%0, window=100) %2 = batch(%1, size=8) "
      "%3 = shuffle(%2, window=20)");
  EXPECT_TRUE(facts.shuffled);
  EXPECT_EQ(facts.shuffle_window, 160);
}

TEST(CutFactsTest, KnowsThatAFilterChangesCounts) {
  EXPECT_TRUE(
      FactsOf("%0 = range(stop=9) %1 = filter(%0, predicate={true})").counts_change);
}

TEST(CutFactsTest, SaysWhichOperatorMakesItOneLane) {
  const std::string filtered =
      "%0 = range(stop=9) %1 = filter(%0, predicate={.value > 2}) ";
  EXPECT_EQ(FactsOf(filtered).one_lane_reason, "");
  EXPECT_THAT(FactsOf(filtered + "%2 = skip(%1, count=3)").one_lane_reason,
              StartsWith("skip (%2) goes by a row's place"));
  const std::string batched = "%0 = range(stop=9) %1 = batch(%0, size=2) ";
  EXPECT_EQ(FactsOf(batched).one_lane_reason, "");
  EXPECT_THAT(FactsOf(batched + "%2 = shuffle(%1, window=3)").one_lane_reason,
              StartsWith("shuffle (%2) looks at more than one batch"));
}

TEST(CutFactsTest, ASourceThatIsNotCountedHasNoPlaces) {
  const std::vector<ir::Pipeline> nodes =
      MustParse("%0 = range(stop=9) %1 = take(%0, count=3)").Nodes();
  EXPECT_EQ(CutFactsOf(nodes, true).one_lane_reason, "");
  EXPECT_THAT(CutFactsOf(nodes, false).one_lane_reason,
              StartsWith("take (%1) goes by a row's place in the pass, and range (%0) "
                         "does not know its rows"));
}

TEST(CutFactsTest, RowsLeftOutBehindAreNotCounted) {
  const std::vector<ir::Pipeline> nodes =
      MustParse(
          "%0 = range(stop=9) %1 = map(%0, function={value: 6 // .value}) "
          "%2 = take(%1, count=3)")
          .Nodes();
  EXPECT_EQ(CutFactsOf(nodes, true).one_lane_reason, "");
  const lanes::CutFacts ignored = CutFactsOf(nodes, true, true);
  EXPECT_TRUE(ignored.counts_change);
  EXPECT_THAT(ignored.one_lane_reason,
              StartsWith("take (%2) goes by a row's place in the pass, and map (%1)"));
}

TEST(CutFactsTest, AnOperatorThatLooksAtAllRowsMakesItOneLane) {
  const ir::Catalog& known = ops::DefaultLibrary().catalog();
  ir::OperatorSchema scan = **known.FindOperator("map");
  scan.name = "scan";
  scan.looks_across_lanes = [](const ir::Arguments&) { return true; };
  ir::Catalog catalog;
  catalog.Add(**known.FindOperator("range"));
  catalog.Add(std::move(scan));
  const ir::Pipeline pipeline =
      *ir::Parse("%0 = range(stop=9) %1 = scan(%0, function={x: 1})", {}, catalog);
  EXPECT_EQ(CutFactsOf(pipeline.Nodes(), true).one_lane_reason,
            "scan (%1) looks at the rows of all lanes");
}

TEST(CutFactsTest, ShufflesDoNotChangeWhatOperatorsBeforeThemSee) {
  const auto shuffled = [](const std::string& before) {
    const ir::Pipeline pipeline = MustParse(base::StrCat(
        "%0 = range(stop=9000) %1 = ", before, " %2 = shuffle(%1, window=5)"));
    const lanes::CutFacts facts = CutFactsOf(pipeline.Nodes(), true);
    EXPECT_EQ(facts.shuffle_window, 5);
    return facts.shuffled;
  };
  EXPECT_TRUE(shuffled("filter(%0, predicate={.value > 3})"));
  EXPECT_TRUE(shuffled("window(%0, size=1, per_lane=true)"));
  EXPECT_FALSE(shuffled("take(%0, count=9)"));
  EXPECT_FALSE(shuffled("take_while(%0, predicate={.value < 9})"));
}

TEST(CutFactsTest, NamesTheArgumentThatKeepsLanesApart) {
  const auto reason = [](const std::string& operation) {
    return FactsOf(base::StrCat("%0 = range(stop=9000) %1 = ", operation))
        .one_lane_reason;
  };
  EXPECT_EQ(reason("window(%0, size=2)"),
            "window (%1) looks at the rows of all lanes; with per_lane=true it takes "
            "each lane by itself, where that serves");
  EXPECT_EQ(reason("window(%0, size=2, per_lane=true)"), "");
  EXPECT_EQ(reason("take_while(%0, predicate={.value < 9})"),
            "take_while (%1) looks at the rows of all lanes");
}

TEST(CutFactsTest, WhereRowsMayBeLeftOutCountsAreNotKnown) {
  const std::string fails =
      "%0 = range(stop=9000) %1 = map(%0, function={x: 1 // .value}) "
      "%2 = enumerate(%1)";
  EXPECT_FALSE(FactsOf(fails).counts_change);
  EXPECT_TRUE(FactsOf(fails).one_lane_reason.empty());
  const std::string ignored = base::StrCat(fails, " %3 = ignore_errors(%2)");
  EXPECT_TRUE(FactsOf(ignored).counts_change);
  EXPECT_FALSE(FactsOf(ignored).one_lane_reason.empty());
  // Nothing before the numbers can fail: they are known.
  EXPECT_EQ(FactsOf("%0 = range(stop=9000) %1 = enumerate(%0) "
                    "%2 = map(%1, function={x: 1 // .value}) %3 = ignore_errors(%2)")
                .one_lane_reason,
            "");
}

// Behind a batch, only what looks at one batch at a time leaves lanes apart.
TEST(CutFactsTest, LanesAreJoinedByTheLastBatch) {
  const auto join = [](std::string_view text) {
    const std::vector<ir::Pipeline> nodes = MustParse(text).Nodes();
    return JoinPlace(nodes, LastBatching(nodes));
  };
  const std::string batched = "%0 = range(stop=9) %1 = batch(%0, size=2) ";
  EXPECT_EQ(join("%0 = range(stop=9)"), 1);
  EXPECT_EQ(join(batched), 1);
  EXPECT_EQ(join(batched + "%2 = map(%1, function={value: .value + 1})"), 1);
  EXPECT_EQ(join(batched + "%2 = batch(%1, size=2)"), 2);
  EXPECT_EQ(join(batched + "%2 = shuffle(%1, window=2)"), 3);
}

TEST(CutFactsTest, OnlyABatchHasASize) {
  const std::vector<ir::Pipeline> nodes =
      MustParse("%0 = range(stop=9) %1 = batch(%0, size=5)").Nodes();
  EXPECT_EQ(BatchSizeOf(nodes[0]), 1);
  EXPECT_EQ(BatchSizeOf(nodes[1]), 5);
  EXPECT_EQ(LastBatching(nodes), 1);
  EXPECT_EQ(LastBatching({nodes[0]}), -1);
}

TEST(CutFactsTest, AMapKeepsTheCountUnlessItsErrorsAreIgnored) {
  const std::vector<ir::Pipeline> nodes =
      MustParse(
          "%0 = range(stop=9) %1 = map(%0, function={value: 6 // .value}) "
          "%2 = filter(%1, predicate={.value > 2})")
          .Nodes();
  EXPECT_TRUE(KeepsCount(nodes, 1, false));
  EXPECT_FALSE(KeepsCount(nodes, 1, true));
  EXPECT_FALSE(KeepsCount(nodes, 2, false));
}

}  // namespace
}  // namespace millrace::exec
