#include "millrace/lanes/known_lanes.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"

#include "millrace/base/text.h"

namespace millrace::lanes {

absl::Status KnownLanes::Learn(int64_t lane, const KnownLane& known) {
  KnownLane& kept = lanes_[lane];
  const bool longer = kept.ended && known.rows > kept.rows;
  const bool shorter = known.ended && known.rows < kept.rows;
  if (longer || shorter) {
    return absl::DataLossError(base::StrCat(
        "lane ", lane, " came out with ", kept.rows, " rows and then with ", known.rows,
        ": a function is not deterministic, or a file has changed"));
  }
  kept.rows = std::max(kept.rows, known.rows);
  kept.ended = kept.ended || known.ended;
  return absl::OkStatus();
}

KnownLane KnownLanes::Get(int64_t lane) const {
  const auto found = lanes_.find(lane);
  return found == lanes_.end() ? KnownLane{} : found->second;
}

}  // namespace millrace::lanes
