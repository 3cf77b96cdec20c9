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
  EXPECT_EQ(Drawn(7, true),
            R"(%0 = range(start=30, stop=66, step=1)
%1 = range(stop=231)
%2 = map(%1, function={value: .value * 7})
%3 = concat(%0, %2)
%4 = prefetch(%3, count=6)
%5 = filter(%4, predicate={uniform(0.0, 1.0) < 0.6})
%6 = range(stop=174)
%7 = map(%6, function={value: .value * 7})
%8 = concat(%5, %7)
%9 = map(%8, function={value: .value, p9: .value * (-3 + 6)})
%10 = filter(%9, predicate={sum(100 // (.value % 126 - 3)) != 33})
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
  for (int seed = 0; seed < 48; ++seed) drawn += Drawn(seed);
  for (const char* name : {"range", "map", "filter", "shuffle", "batch", "padded_batch",
                           "rebatch", "take", "skip", "shard", "enumerate", "select",
                           "rename", "prefetch", "ignore_errors"}) {
    EXPECT_THAT(drawn, testing::HasSubstr(base::StrCat(" = ", name, "(")));
  }
}

}  // namespace
}  // namespace millrace::exec
