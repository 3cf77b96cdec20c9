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
  EXPECT_EQ(
      Drawn(19),
      R"(%0 = range(start=-20, stop=1085, step=2)
%1 = batch(%0, size=21, drop_remainder=true)
%2 = batch(%1, size=5, drop_remainder=true)
%3 = map(%2, function={value: .value})
%4 = select(%3, fields=["value"])
%5 = rename(%4, from=["value"], to=["r4"])
%6 = map(%5, function={f6_0: ((.r4) - (-6)) + ((-8) * (.r4)) + .r4, )"
      R"(f6_1: (.r4 + integers(0, 56)) - (where((.r4) < (.r4), (0), (.r4))) + .r4})
)");
}

}  // namespace
}  // namespace millrace::exec
