#include "millrace/exec/random_pipeline_test.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/text.h"

namespace millrace::exec {
namespace {

std::string Drawn(int seed) {
  return RandomPipeline(base::Generator(base::RandomKey(seed, 0, 0), {})).Text();
}

// So that what fails under one compiler can be looked at with another.
TEST(RandomPipelineTest, DrawsTheSameWithEveryCompiler) {
  EXPECT_EQ(
      Drawn(13),
      R"(%0 = range(start=42, stop=219, step=3)
%1 = padded_batch(%0, size=34, drop_remainder=false)
%2 = filter(%1, predicate={)"
      R"(sum(where((-1) < (.value), (.value), (.value)) + .value) % 3 != 0})
%3 = map(%2, function={)"
      R"(f3_0: ((4) - (-4)) + ((.value) // (.value % 32)) + .value, value: .value})
%4 = ignore_errors(%3, report=16)
)");
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
