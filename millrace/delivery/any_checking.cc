// The part of the reader that checks what a dispatcher says (any_reader.h).
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/rights.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/delivery/any_reader.h"
#include "millrace/lanes/manifest.h"

namespace millrace::delivery {
namespace {

template <typename... Pieces>
absl::Status Wrong(const Pieces&... pieces) {
  return absl::InvalidArgumentError(
      base::StrCat("the dispatcher's news make no sense: ", pieces...));
}

absl::Status CheckDisjoint(std::vector<api::Right> rights) {
  std::ranges::sort(rights, {}, [](const api::Right& right) {
    return std::pair(right.lane, right.begin);
  });
  for (size_t i = 1; i < rights.size(); ++i) {
    const api::Right& before = rights[i - 1];
    if (before.lane != rights[i].lane || before.end <= rights[i].begin) continue;
    return Wrong("rights ", before.number, " and ", rights[i].number, " overlap");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AnyReader::CheckRight(const api::Right& right) const {
  const bool possible = right.number > 0 && HasLane(right.lane) && right.begin >= 0 &&
                        right.begin < right.end && right.end <= lanes::kRowsMax &&
                        right.group >= 0;
  if (!possible) {
    return Wrong("right ", right.number, " to rows ", right.begin, " to ", right.end,
                 " of lane ", right.lane);
  }
  const auto found = rights_.find(right.number);
  if (found == rights_.end()) return absl::OkStatus();
  const Owned& owned = found->second;
  const bool same = owned.right.lane == right.lane &&
                    owned.right.begin == right.begin && right.end <= owned.right.end &&
                    owned.right.group == right.group;
  return same ? absl::OkStatus() : Wrong("right ", right.number, " is another now");
}

absl::Status AnyReader::Check(const api::PassNews& news) const {
  for (const api::Right& right : news.rights) TRY(CheckRight(right));
  TRY(CheckDisjoint(news.rights));
  const bool possible =
      news.horizon >= 0 && news.give_rows >= 0 && news.give_rows <= lanes::kRowsMax &&
      std::ranges::all_of(news.asks, [&](const api::Ask& ask) {
        return ask.batches >= 0 && ask.batches <= lanes::kRowsMax / batch_rows();
      });
  return possible ? absl::OkStatus() : Wrong("what is asked for cannot be");
}

}  // namespace millrace::delivery
