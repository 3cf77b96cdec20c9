// The manifest: what listing a source found, once, before a job starts. Sources fill
// it, cutting reads it, and a state names it by its content hash. A plain value, one
// per source; checking and hashing cost O(splits).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/bytes.h"
#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"

namespace millrace::lanes {

// What Check lets through. Sums of rows and of bytes stay below as well, so that no
// arithmetic on a checked manifest can overflow.
inline constexpr int64_t kSplitsMax = int64_t{1} << 24;
inline constexpr int64_t kRowsMax = int64_t{1} << 60;
inline constexpr base::Bytes kSourceBytesMax{int64_t{1} << 60};
inline constexpr int64_t kNameBytesMax = 4096;

// A piece of a source that can be read on its own: a file, a row group, an index range.
struct Split {
  std::string name;             // Path below the source's root.
  base::Bytes bytes;            // 0 for data that is computed.
  std::string version;          // etag or modification time, as text.
  std::optional<int64_t> rows;  // Where an index or the format tells.
  bool seekable = false;        // Reading can begin at any row.
  int64_t grain = 0;            // But so many are best read together; 0: no matter.

  bool operator==(const Split&) const = default;
};

struct Manifest {
  std::vector<Split> splits;

  // Tells whether the rows of every split are known.
  bool counted() const;

  // Adds up the rows. Requires: counted(), and Check found nothing.
  int64_t total_rows() const;

  // Adds up the bytes; absurd sums saturate.
  base::Bytes total_bytes() const;

  bool operator==(const Manifest&) const = default;
};

// Tells whether every row is known and can be reached by itself.
bool AllSeekable(const Manifest& manifest);

// The same without counts: how a source is seen where not all of its splits tell their
// rows, or where a job began without knowing them.
Manifest WithoutCounts(Manifest manifest);

// Finds absurd counts, sizes and names; the error names the split.
absl::Status Check(const Manifest& manifest, int64_t splits_max = kSplitsMax);

// Names the content: names, sizes, rows, seekability and grain of the splits, in order.
// Versions are left out, since another modification time alone is only a warning.
base::Sha256 ContentHash(const Manifest& manifest);

// Names what one split holds, by its name and size: lanes are seeded with it.
base::Hash128 SplitHash(const Split& split);

// The same with the version: caches are keyed with it, so that they never serve what a
// file used to hold.
base::Hash128 VersionedSplitHash(const Split& split);

}  // namespace millrace::lanes
