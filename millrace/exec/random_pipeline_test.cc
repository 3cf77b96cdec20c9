#include "millrace/exec/random_pipeline_test.h"

#include <cstdint>
#include <set>
#include <string>

#include "gtest/gtest.h"

#include "millrace/base/random.h"
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
  EXPECT_EQ(
      Drawn(7, true),
      R"(%0 = range(start=30, stop=66, step=1)
%1 = filter(%0, predicate={sum(100 // (.value % 115 - 3)) != 33})
%2 = filter(%1, predicate={sum(where((1) < (.value), (.value), (.value)) + .value) )"
      R"(% 4 != 0})
%3 = map(%2, function={f3_0: where(((.value) - (.value)) < ((.value) * (.value)), )"
      R"(((0) + (-2)), ((6) - (.value))) + .value, )"
      R"(f3_1: (.value + integers(0, 19)) + ((.value) // 6) + .value, value: .value})
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

}  // namespace
}  // namespace millrace::exec
