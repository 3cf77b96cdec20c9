#include "millrace/exec/explain_lanes.h"

#include <fstream>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Explained(const rewrite::Rewritten& pipeline) {
  const absl::StatusOr<PassPlan> plan = PlanPass(pipeline, ops::DefaultLibrary(), {});
  CHECK(plan.ok()) << plan.status();
  return ExplainLanes(*plan);
}

std::string Explained(std::string_view text) { return Explained(AsWritten(text)); }

// A text file of a thousand lines, without an index.
std::string TextFile() {
  std::string path = base::StrCat(testing::TempDir(), "explain_lanes_test.txt");
  std::ofstream file(path);
  for (int i = 0; i < 1000; ++i) file << "line " << i << "\n";
  return path;
}

TEST(ExplainLanesTest, SaysHowManyAndHowLong) {
  EXPECT_EQ(Explained("%0 = range(stop=100000) %1 = batch(%0, size=50)"),
            "1000 lanes of about 100 rows");
}

TEST(ExplainLanesTest, NoRowsAreNoLanes) {
  EXPECT_EQ(Explained("%0 = range(stop=0)"), "none: there are no rows");
}

TEST(ExplainLanesTest, ABatchOfAllRowsIsOneLane) {
  EXPECT_THAT(Explained("%0 = range(stop=90) %1 = batch(%0, size=90)"),
              StartsWith("1 lane of 90 rows: a batch or a shuffle window"));
}

TEST(ExplainLanesTest, PlacesBehindAFilterMakeOneLane) {
  EXPECT_EQ(Explained("%0 = range(stop=1000) %1 = filter(%0, predicate={.value > 3}) "
                      "%2 = map(%1, function={x: .value}) %3 = take(%2, count=50)"),
            "1 lane: take (%3) goes by a row's place in the pass, and filter (%1) in "
            "front of it changes how many there are; put take in front of filter, "
            "where that serves");
}

TEST(ExplainLanesTest, SaysWhoseLanesThoseOfSeveralInputsAre) {
  const std::string two = "%0 = range(stop=1000) %1 = range(stop=1000) ";
  EXPECT_EQ(Explained(two + "%2 = concat(%0, %1)"), "2000 lanes, those of its inputs");
  EXPECT_THAT(Explained("%0 = range(stop=9) %1 = repeat(%0)"),
              HasSubstr("lanes in the first turn of a repeat"));
  EXPECT_THAT(Explained("%0 = range(stop=9) %1 = enumerate(%0, field=\"i\") "
                        "%2 = drop(%1, fields=[\"value\"]) %3 = zip(%0, %2)"),
              HasSubstr("1 lane: zip counts the rows of its inputs"));
}

TEST(ExplainLanesTest, PlacesInFrontOfAFilterDoNot) {
  EXPECT_THAT(Explained("%0 = range(stop=1000) %1 = take(%0, count=500) "
                        "%2 = filter(%1, predicate={.value > 3})"),
              HasSubstr(" lanes of about "));
}

TEST(ExplainLanesTest, PlacesInASourceThatIsNotCountedMakeOneLane) {
  const std::string text = base::StrCat("%0 = read_text(paths=[\"", TextFile(), "\"])");
  EXPECT_THAT(Explained(text + "%1 = enumerate(%0, field=\"n\")"),
              StartsWith("1 lane: enumerate (%1) goes by a row's place in the pass, "
                         "and read_text (%0) does not know its rows before it reads "
                         "them; count them once with `millrace data index`"));
}

TEST(ExplainLanesTest, AFileThatIsNotCountedSaysWhatToDo) {
  const std::string text = base::StrCat("%0 = read_text(paths=[\"", TextFile(), "\"])");
  EXPECT_THAT(Explained(text), HasSubstr("`millrace data index`"));
}

TEST(ExplainLanesTest, WhatMixesBatchesMakesOneLane) {
  EXPECT_EQ(Explained("%0 = range(stop=1000) %1 = batch(%0, size=4) "
                      "%2 = map(%1, function={x: .value}) %3 = shuffle(%2, window=9)"),
            "1 lane: shuffle (%3) looks at more than one batch of batch (%1); put it "
            "in front of that, where that serves");
}

// Lanes are cut from the pipeline as written, and so are the reasons.
TEST(ExplainLanesTest, TheReasonIsOfThePipelineAsWritten) {
  const rewrite::Rewritten rewritten = *rewrite::Rewrite(
      MustParse("%0 = range(stop=1000) %1 = filter(%0, predicate={true}) "
                "%2 = take(%1, count=50)"),
      ops::DefaultLibrary().catalog());
  ASSERT_EQ(rewritten.after.Nodes().size(), 2U);
  EXPECT_THAT(Explained(rewritten), StartsWith("1 lane: take (%2) goes by"));
}

TEST(ExplainLanesTest, RowsAreToldAsFarAsFilesTellThem) {
  const auto explained = [](std::string_view text) {
    return ExplainPass(AsWritten(text), ops::DefaultLibrary());
  };
  const std::string fixed =
      base::StrCat("%0 = read_fixed(paths=[\"", TextFile(), "\"], record_bytes=10) ");
  EXPECT_THAT(explained(fixed), HasSubstr("\nrows\n  889\nlanes"));
  EXPECT_THAT(explained(fixed + "%1 = batch(%0, size=100)"), HasSubstr("rows\n  9\n"));
  EXPECT_THAT(explained(fixed + "%1 = repeat(%0)"), HasSubstr("rows\n  infinite\n"));
  EXPECT_THAT(explained(base::StrCat("%0 = read_text(paths=[\"", TextFile(), "\"])")),
              HasSubstr("rows\n  unknown: read_text (%0): 1 of 1 file has no index"));
  EXPECT_THAT(explained("%0 = read_text(paths=[\"no/such/file\"])"),
              HasSubstr("rows\n  unknown\nlanes\n  not known here"));
}

}  // namespace
}  // namespace millrace::exec
