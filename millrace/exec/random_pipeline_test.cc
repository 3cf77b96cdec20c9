#include "millrace/exec/random_pipeline_test.h"

#include <cstdint>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/text.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/pass.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

constexpr int kPipelines = 48;  // As many as the conformance tests draw.

std::string Drawn(int seed, bool fails = false) {
  const uint64_t epoch = fails ? 1 : 0;
  return RandomPipeline(base::Generator(base::RandomKey(seed, epoch, 0), {}), fails)
      .Text();
}

// So that what fails under one compiler can be looked at with another.
TEST(RandomPipelineTest, DrawsTheSameWithEveryCompiler) {
  EXPECT_EQ(Drawn(8, true),
            R"(%0 = range(start=1, stop=1097, step=2)
%1 = shuffle(%0, window=168)
%2 = filter(%1, predicate={sum(.value) < 126})
%3 = filter(%2, predicate={sum(.value) > 143})
%4 = map(%3, function={value: .value, e4: 100 // (.value % 65 - 3)})
%5 = filter(%4, predicate={sum(.value) > 151})
%6 = filter(%5, predicate={sum(.e4) < 21})
)");
}

// Else the conformance tests would say nothing about a rewrite.
TEST(RandomPipelineTest, GivesEveryRewriteSomethingToDo) {
  for (const bool fails : {false, true}) {
    std::set<std::string> fired = {"crop_while_decoding"};  // No images are drawn.
    for (int seed = 0; seed < kPipelines; ++seed) {
      const rewrite::Rewritten rewritten = *rewrite::Rewrite(
          MustParse(Drawn(seed, fails)), ops::DefaultLibrary().catalog());
      for (const rewrite::Step& step : rewritten.steps) fired.insert(step.pass);
    }
    for (const rewrite::Pass& pass : rewrite::AllPasses()) {
      EXPECT_TRUE(fired.contains(pass.name)) << pass.name << (fails ? ", failing" : "");
    }
  }
}

TEST(RandomPipelineTest, ManyOfThoseThatMayFailDo) {
  int failed = 0;
  for (int seed = 0; seed < kPipelines; ++seed) {
    failed += RunAll(MustParse(Drawn(seed, true))).ok() ? 0 : 1;
  }
  EXPECT_GT(failed, kPipelines / 3);
  EXPECT_LT(failed, kPipelines);
}

TEST(RandomPipelineTest, DrawsTheOperatorsThatTestsAreAbout) {
  std::string drawn;
  for (int seed = 0; seed < kPipelines; ++seed) {
    drawn += Drawn(seed) + Drawn(seed, true);
  }
  for (const char* name : {"range", "map", "filter", "shuffle", "batch", "padded_batch",
                           "rebatch", "take", "skip", "shard", "enumerate", "select",
                           "rename", "prefetch", "ignore_errors", "cache"}) {
    EXPECT_THAT(drawn, testing::HasSubstr(base::StrCat(" = ", name, "(")));
  }
}

}  // namespace
}  // namespace millrace::exec
