#include "millrace/sim/cluster.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::sim {
namespace {

using base::IsOk;

#if defined(__SANITIZE_ADDRESS__)
#define MILLRACE_SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MILLRACE_SLOW 1
#endif
#endif

#ifdef MILLRACE_SLOW
constexpr int64_t kSeeds = 100;  // They take several times as long.
#else
constexpr int64_t kSeeds = 1000;
#endif

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
