#include "millrace/lanes/known_lanes.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

#include "absl/status/status.h"

#include "millrace/base/text.h"
#include "millrace/lanes/manifest.h"

namespace millrace::lanes {
namespace {

constexpr int64_t kKeysMax = 1 << 20;

}  // namespace

int64_t KnownLane::before_tails() const {
  return std::accumulate(tails.begin(), tails.end(), rows, std::minus<>());
}

bool IsPossible(const KnownLane& known) {
  if (known.rows < 0 || known.rows > kRowsMax) return false;
  if (!known.ended && !known.tails.empty()) return false;
  int64_t left = known.rows;
  for (const int64_t rows : known.tails) {
    if (rows < 0 || rows > left) return false;
    left -= rows;
  }
  return std::ssize(known.tails) <= kKeysMax;
}

absl::Status KnownLanes::Learn(int64_t lane, const KnownLane& known) {
  KnownLane& kept = lanes_[lane];
  const bool longer = kept.ended && known.rows > kept.rows;
  const bool shorter = known.ended && known.rows < kept.rows;
  if (longer || shorter) {
    return absl::DataLossError(base::StrCat(
        "lane ", lane, " came out with ", kept.rows, " rows and then with ", known.rows,
        ": a function is not deterministic, or a file has changed"));
  }
  if (kept.ended && known.ended && kept.tails != known.tails) {
    return absl::DataLossError(
        base::StrCat("lane ", lane,
                     " came out with other rows left over than it did before: a "
                     "function is not deterministic, or a file has changed"));
  }
  kept.rows = std::max(kept.rows, known.rows);
  if (known.ended) kept.tails = known.tails;
  kept.ended = kept.ended || known.ended;
  return absl::OkStatus();
}

KnownLane KnownLanes::Get(int64_t lane) const {
  const auto found = lanes_.find(lane);
  return found == lanes_.end() ? KnownLane{} : found->second;
}

}  // namespace millrace::lanes
