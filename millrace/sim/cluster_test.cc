#include "millrace/sim/cluster.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

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

// Windows of no room, of little, and of enough for all.
TEST(ClusterTest, JobsThatShareHoldToItEachForItself) {
  constexpr int64_t kWindows[] = {0, 12, 100'000};
  const int64_t first = Setting("MILLRACE_SIM_SEED", 0);
  const int64_t seeds = Setting("MILLRACE_SIM_SEEDS", first > 0 ? 1 : kSeeds / 3);
  for (int64_t seed = first; seed < first + seeds; ++seed) {
    Cluster one(seed, {.runs = false, .window_bytes = kWindows[seed % 3]});
    Cluster other(seed + 1'000'000, one);
    Cluster third(seed + 2'000'000, one);
    std::vector<Cluster*> jobs = {&one, &other};
    if (seed % 2 == 0) jobs.push_back(&third);
    ASSERT_THAT(Cluster::RunTogether(jobs), IsOk()) << "seed " << seed;
  }
}

// Lanes go from worker to worker here, as messages take long: a job that is alone has
// some rows made twice, too.
TEST(ClusterTest, JobsThatShareCostLessThanTwoProductions) {
  const ClusterOptions options{.faults = false, .runs = false, .window_bytes = 100'000};
  int64_t alone = 0;
  int64_t together = 0;
  int64_t all = 0;
  int64_t shared = 0;
  for (int64_t seed = 0; seed < 50; ++seed) {
    Cluster single(seed, options);
    ASSERT_THAT(single.Run(), IsOk()) << "seed " << seed;
    alone += single.made_rows();
    Cluster one(seed, options);
    Cluster other(seed + 1'000'000, one);
    ASSERT_THAT(Cluster::RunTogether({&one, &other}), IsOk()) << "seed " << seed;
    together += one.made_rows();
    all += one.all_rows();
    shared += one.Visits().shared + other.Visits().shared;
  }
  EXPECT_LT(together, alone * 2 * 85 / 100);
  EXPECT_GT(shared, all * 8 / 10);
}

}  // namespace
}  // namespace millrace::sim
