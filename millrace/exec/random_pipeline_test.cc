#include "millrace/exec/random_pipeline_test.h"

#include <string>

#include "gtest/gtest.h"

#include "millrace/base/random.h"

namespace millrace::exec {
namespace {

std::string Drawn(int seed) {
  return RandomPipeline(base::Generator(base::RandomKey(seed, 0, 0), {})).Text();
}

// So that what fails under one compiler can be looked at with another.
TEST(RandomPipelineTest, DrawsTheSameWithEveryCompiler) {
  EXPECT_EQ(Drawn(19), R"(%0 = range(start=-20, stop=1085, step=2)
%1 = shuffle(%0, window=198, seed=1)
%2 = filter(%1, predicate={true})
%3 = map(%2, function={value: .value})
%4 = batch(%3, size=24, drop_remainder=false)
%5 = map(%4, function={f5_0: ((.value) - (-6)) + ((-8) * (.value)) + .value, )"
                       R"(f5_1: (.value + integers(0, 56)) - )"
                       R"((where((.value) < (.value), (0), (.value))) + .value})
%6 = map(%5, function={f6_0: .f5_1 + integers(0, 61) + .f5_0, )"
                       R"(f6_1: ((0) * (.f5_0)) - ((-4) // 5) + .f5_0})
)");
}

}  // namespace
}  // namespace millrace::exec
