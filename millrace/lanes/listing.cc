#include "millrace/lanes/listing.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/sha256.h"
#include "millrace/base/text.h"
#include "millrace/lanes/manifest.h"

namespace millrace::lanes {
namespace {

base::Sha256 HashOf(const std::optional<Manifest>& manifest) {
  return manifest ? ContentHash(*manifest) : base::Sha256();
}

std::string Shown(const Split& split) {
  return base::StrCat("\"", std::string_view(split.name).substr(0, 200), "\" of ",
                      split.bytes.count(), " bytes",
                      split.rows ? base::StrCat(" and ", *split.rows, " rows") : "");
}

bool SameContent(const Split& a, const Split& b) {
  return a.name == b.name && a.bytes == b.bytes && a.rows == b.rows &&
         a.seekable == b.seekable && a.grain == b.grain;
}

}  // namespace

base::Sha256 ContentHash(const Listing& listing) {
  if (listing.size() == 1) return HashOf(listing[0]);
  base::Sha256Hasher hasher;
  for (const std::optional<Manifest>& manifest : listing) {
    hasher.Update(base::ToHex(HashOf(manifest)));
  }
  return hasher.Finish();
}

absl::Status CheckSame(const Manifest& listed, const Manifest& found) {
  const Manifest now = listed.counted() ? found : WithoutCounts(found);
  const size_t common = std::min(listed.splits.size(), now.splits.size());
  for (size_t i = 0; i < common; ++i) {
    if (SameContent(listed.splits[i], now.splits[i])) continue;
    return absl::FailedPreconditionError(
        base::StrCat("the data is not what was listed: split ", i, " was ",
                     Shown(listed.splits[i]), " and is ", Shown(now.splits[i])));
  }
  if (listed.splits.size() == now.splits.size()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      base::StrCat("the data is not what was listed: there were ", listed.splits.size(),
                   " splits, and are ", now.splits.size()));
}

}  // namespace millrace::lanes
