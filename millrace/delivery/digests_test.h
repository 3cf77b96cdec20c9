// Digests for tests: a different one at each place of each lane, and none of nothing.
#pragma once

#include <cstdint>

#include "millrace/base/hash.h"

namespace millrace::delivery {

inline base::Hash128 DigestAt(int64_t lane, int64_t row) {
  return {.hi = static_cast<uint64_t>(lane) + 1, .lo = static_cast<uint64_t>(row)};
}

}  // namespace millrace::delivery
