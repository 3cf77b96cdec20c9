#include "millrace/exec/lowered.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/exec/runs_test.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

std::vector<std::string> NamesOf(const ir::Pipeline& pipeline) {
  std::vector<std::string> names;
  for (const ir::Pipeline& node : pipeline.Nodes()) names.push_back(node.name());
  return names;
}

TEST(LoweredTest, PutsWhatAnOperatorIsMadeOfInItsPlace) {
  const ir::Pipeline pipeline = MustParse(
      "%0 = range(stop=9) %1 = batch(%0, size=2) %2 = rebatch(%1, size=3) "
      "%3 = take(%2, count=1)");
  const ir::Pipeline lowered = *Lowered(pipeline, ops::DefaultLibrary());
  EXPECT_THAT(NamesOf(lowered),
              testing::ElementsAre("range", "batch", "unbatch", "batch", "take"));
  EXPECT_EQ(lowered.spec(), pipeline.spec());
}

TEST(LoweredTest, LeavesOthersAsTheyAre) {
  const ir::Pipeline pipeline =
      MustParse("%0 = range(stop=9) %1 = shuffle(%0, window=4) %2 = concat(%0, %1)");
  EXPECT_EQ(Lowered(pipeline, ops::DefaultLibrary())->fingerprint(),
            pipeline.fingerprint());
}

}  // namespace
}  // namespace millrace::exec
