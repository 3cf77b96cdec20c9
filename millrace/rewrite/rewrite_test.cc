#include "millrace/rewrite/rewrite.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/golden_file.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/cases_test.h"
#include "millrace/rewrite/pass.h"

namespace millrace::rewrite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kText[] =
    "%0 = range(stop=10) %1 = map(%0, function={value: .value}) "
    "%2 = map(%1, function={a: .value + 1, b: .value}) "
    "%3 = map(%2, function={c: .a})";

ir::Pipeline Parsed(const std::string& text) {
  return *ir::Parse(text, {}, ops::DefaultLibrary().catalog());
}

const ir::Catalog& Catalog() { return ops::DefaultLibrary().catalog(); }

TEST(RewriteTest, AllPassesTogetherDoWhatTheGoldenFileSays) {
  EXPECT_THAT(CheckCases("rewrite", ""), base::IsOk());
}

TEST(RewriteTest, EveryPassHasANameADocAndAGoldenFile) {
  for (const Pass& pass : AllPasses()) {
    EXPECT_FALSE(pass.doc.empty()) << pass.name;
    EXPECT_THAT(CheckCases(pass.name, pass.name), base::IsOk()) << pass.name;
  }
}

TEST(RewriteTest, LeavesAPipelineWithNothingToGainAlone) {
  const ir::Pipeline pipeline = Parsed("%0 = range(stop=10) %1 = batch(%0, size=2)");
  const Rewritten rewritten = *Rewrite(pipeline, Catalog());
  EXPECT_EQ(rewritten.after, pipeline);
  EXPECT_THAT(rewritten.steps, IsEmpty());
}

TEST(RewriteTest, RewritingAgainChangesNothing) {
  const Rewritten once = *Rewrite(Parsed(kText), Catalog());
  const Rewritten twice = *Rewrite(once.after, Catalog());
  EXPECT_EQ(twice.after, once.after);
  EXPECT_THAT(twice.steps, IsEmpty());
}

TEST(RewriteTest, EachPassCanBeSwitchedOff) {
  for (const Pass& pass : AllPasses()) {
    const Rewritten rewritten =
        *Rewrite(Parsed(kText), Catalog(), {.off = {pass.name}});
    for (const Step& step : rewritten.steps) EXPECT_NE(step.pass, pass.name);
  }
  const ir::Pipeline pipeline = Parsed(kText);
  EXPECT_EQ(Rewrite(pipeline, Catalog(), {.off = {"all"}})->after, pipeline);
}

TEST(RewriteTest, AnUnknownPassIsAnErrorThatListsThem) {
  const absl::StatusOr<Rewritten> rewritten =
      Rewrite(Parsed(kText), Catalog(), {.off = {"fuse_map"}});
  EXPECT_THAT(rewritten.status().message(), HasSubstr("there is no rewrite fuse_map"));
  EXPECT_THAT(rewritten.status().message(), HasSubstr("fuse_maps"));
}

TEST(RewriteTest, KeepsSpecAndCallNumbers) {
  const ir::Pipeline pipeline = Parsed(
      "%0 = range#4(stop=10) %1 = map(%0, function={value: .value}) "
      "%2 = shuffle#9(%1, window=3) %3 = batch(%2, size=2)");
  const Rewritten rewritten = *Rewrite(pipeline, Catalog());
  EXPECT_EQ(rewritten.after.spec(), pipeline.spec());
  EXPECT_THAT(ir::Print(rewritten.after).text, HasSubstr("range#4"));
  EXPECT_THAT(ir::Print(rewritten.after).text, HasSubstr("shuffle#9"));
}

TEST(RewriteTest, ExplainShowsBeforeAfterAndWhy) {
  const std::string path = base::SourcePath("millrace/rewrite/testdata/explain.golden");
  EXPECT_THAT(
      base::CheckGolden(path,
                        [](const base::GoldenCase& the_case) {
                          return Explain(*Rewrite(Parsed(the_case.before), Catalog()));
                        }),
      base::IsOk());
}

// Every filter rises past all maps above it and joins the others.
TEST(RewriteTest, ManyFiltersAmongManyMapsBecomeOneOfEach) {
  std::string text = "%0 = range(stop=10)\n";
  for (int i = 1; i < 100; i += 2) {
    text += base::StrCat("%", i, " = map(%", i - 1, ", function={value: .value, x: ", i,
                         " * .value})\n", "%", i + 1, " = filter(%", i,
                         ", predicate={.value > ", i, "})\n");
  }
  const std::vector<ir::Pipeline> nodes =
      Rewrite(Parsed(text), Catalog())->after.Nodes();
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[1].name(), "filter");
  EXPECT_EQ(nodes[2].name(), "map");
}

TEST(RewriteTest, LongPipelinesAreRewrittenInReasonableTime) {
  std::string text = "%0 = range(stop=10)\n";
  for (int i = 1; i < 400; ++i) {
    text +=
        base::StrCat("%", i, " = map(%", i - 1, ", function={value: .value + 1})\n");
  }
  EXPECT_EQ(Rewrite(Parsed(text), Catalog())->after.Nodes().size(), 2U);
}

}  // namespace
}  // namespace millrace::rewrite
