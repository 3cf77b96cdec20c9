#include "millrace/lanes/manifest.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::lanes {
namespace {

// Says what is wrong with a split, which is number `index` of the manifest.
absl::Status Wrong(const Split& split, int64_t index, std::string_view what) {
  const std::string_view name = std::string_view(split.name).substr(0, 200);
  return absl::InvalidArgumentError(
      base::StrCat("manifest: ", what, ", in split ", index, " \"", name, "\""));
}

absl::Status CheckSplit(const Split& split, int64_t index) {
  if (split.name.empty()) return Wrong(split, index, "no name");
  if (std::ssize(split.name) > kNameBytesMax ||
      std::ssize(split.version) > kNameBytesMax) {
    return Wrong(split, index,
                 base::StrCat("name or version longer than ", kNameBytesMax));
  }
  const int64_t bytes = split.bytes.count();
  if (bytes < 0 || split.bytes > kSourceBytesMax) {
    return Wrong(split, index, base::StrCat("absurd size of ", bytes, " bytes"));
  }
  const int64_t rows = split.rows.value_or(0);
  if (rows < 0 || rows > kRowsMax) {
    return Wrong(split, index, base::StrCat("absurd count of ", rows, " rows"));
  }
  if (split.grain < 0 || split.grain > kRowsMax) {
    return Wrong(split, index, base::StrCat("absurd grain of ", split.grain, " rows"));
  }
  return absl::OkStatus();
}

void UpdateText(base::Sha256Hasher& hasher, std::string_view text) {
  hasher.UpdateNumber(text.size()).Update(text);
}

// Keeps 128 bits of a digest, which is enough to tell splits apart.
base::Hash128 Shorten(const base::Sha256& digest) {
  base::Hash128 hash;
  for (int i = 0; i < 8; ++i) {
    hash.hi = hash.hi << 8 | digest.bytes[i];
    hash.lo = hash.lo << 8 | digest.bytes[8 + i];
  }
  return hash;
}

}  // namespace

bool Manifest::counted() const {
  return std::ranges::all_of(splits,
                             [](const Split& split) { return split.rows.has_value(); });
}

int64_t Manifest::total_rows() const {
  int64_t rows = 0;
  for (const Split& split : splits) {
    CHECK(split.rows.has_value()) << split.name;
    rows += *split.rows;
  }
  return rows;
}

base::Bytes Manifest::total_bytes() const {
  base::Bytes bytes;
  for (const Split& split : splits) bytes += split.bytes;
  return bytes;
}

bool AllSeekable(const Manifest& manifest) {
  return manifest.counted() && std::ranges::all_of(manifest.splits, [](const Split& s) {
           return s.seekable;
         });
}

Manifest WithoutCounts(Manifest manifest) {
  for (Split& split : manifest.splits) {
    split.rows.reset();
    split.seekable = false;
  }
  return manifest;
}

absl::Status Check(const Manifest& manifest, int64_t splits_max) {
  if (std::ssize(manifest.splits) > splits_max) {
    return absl::InvalidArgumentError(
        base::StrCat("manifest: too many splits: ", manifest.splits.size(),
                     ", at most ", splits_max));
  }
  int64_t rows = 0;
  base::Bytes bytes;
  for (int64_t i = 0; i < std::ssize(manifest.splits); ++i) {
    const Split& split = manifest.splits[i];
    TRY(CheckSplit(split, i));
    rows += split.rows.value_or(0);  // Both are checked, so neither sum can overflow.
    bytes += split.bytes;
    if (rows > kRowsMax) return Wrong(split, i, "more than 2^60 rows in all");
    if (bytes > kSourceBytesMax) return Wrong(split, i, "more than 2^60 bytes in all");
  }
  return absl::OkStatus();
}

base::Sha256 ContentHash(const Manifest& manifest) {
  base::Sha256Hasher hasher;
  UpdateText(hasher, "millrace manifest 1");
  hasher.UpdateNumber(manifest.splits.size());
  for (const Split& split : manifest.splits) {
    UpdateText(hasher, split.name);
    hasher.UpdateNumber(split.bytes.count());
    hasher.UpdateNumber(split.rows ? 1 : 0).UpdateNumber(split.rows.value_or(0));
    // A split without a grain is hashed as before there were any.
    hasher.UpdateNumber(static_cast<uint64_t>(split.grain) * 2 +
                        (split.seekable ? 1 : 0));
  }
  return hasher.Finish();
}

base::Hash128 SplitHash(const Split& split) {
  base::Sha256Hasher hasher;
  UpdateText(hasher, split.name);
  hasher.UpdateNumber(split.bytes.count());
  return Shorten(hasher.Finish());
}

base::Hash128 VersionedSplitHash(const Split& split) {
  base::Sha256Hasher hasher;
  UpdateText(hasher, split.name);
  hasher.UpdateNumber(split.bytes.count());
  UpdateText(hasher, split.version);
  return Shorten(hasher.Finish());
}

}  // namespace millrace::lanes
