#include "millrace/sim/cluster.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/sanitized.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::sim {
namespace {

using base::IsOk;

// Under sanitizers they take several times as long.
constexpr int64_t kSeeds = base::kSanitized ? 100 : 1000;

// MILLRACE_SIM_SEEDS says how many; MILLRACE_SIM_SEED runs one alone.
int64_t Setting(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoll(text);
}

TEST(ClusterTest, HoldsToTheProtocolWhateverHappens) {
  const int64_t first = Setting("MILLRACE_SIM_SEED", 0);
  const int64_t seeds = Setting("MILLRACE_SIM_SEEDS", first > 0 ? 1 : kSeeds);
  for (int64_t seed = first; seed < first + seeds; ++seed) {
    ASSERT_THAT(Cluster(seed).Run(), IsOk()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace millrace::sim
