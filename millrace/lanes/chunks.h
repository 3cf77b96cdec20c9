// Chunks: runs of rows of one split. They are what a shuffle permutes and what caches
// of row-wise work cover, so how a source is chunked depends on its manifest alone,
// never on the pipeline. Chunks are numbered through all splits and never listed:
// number to rows is a binary search over the splits. O(splits) memory; immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/base/bytes.h"
#include "millrace/base/hash.h"
#include "millrace/lanes/manifest.h"

namespace millrace::lanes {

// About how many chunks a pass has at most. Every split with rows has at least one, so
// the number of splits comes on top.
inline constexpr int64_t kChunksWanted = int64_t{1} << 20;

// Rows begin, ..., end - 1 of a split.
struct RowRange {
  int64_t split = 0;  // Its number in the manifest.
  int64_t begin = 0;
  int64_t end = 0;

  int64_t rows() const { return end - begin; }

  bool operator==(const RowRange&) const = default;
};

// How long chunks are; recorded in a job's state.
struct ChunkRule {
  int64_t rows = 1024;                   // At most, in a split that can be cut.
  base::Bytes bytes{int64_t{16} << 20};  // At most, by the split's mean row.

  bool operator==(const ChunkRule&) const = default;
};

// Chooses the rule for a source: the default, or the least power of two times it that
// keeps a pass within kChunksWanted. Requires: counted() and Check found nothing.
ChunkRule ChooseChunkRule(const Manifest& manifest);

class ChunkTable {
 public:
  // Chunks a source by a rule. A split without random access is one chunk, however
  // long; chunks of one with a grain are whole grains, one at least; a split without
  // rows is none. Where not all splits are counted each is one
  // chunk, which ends at kRowsMax if its rows are not known. Requires: Check found
  // nothing, and both limits of the rule are at least 1.
  ChunkTable(const Manifest& manifest, const ChunkRule& rule);

  int64_t chunks() const { return splits_.empty() ? 0 : splits_.back().chunk_end; }

  // Returns the rows of a chunk. Requires: 0 <= chunk < chunks().
  RowRange Rows(int64_t chunk) const;

  // All rows, and the row of this number among them, as a range.
  int64_t rows() const { return row_ends_.empty() ? 0 : row_ends_.back(); }

  // Requires: 0 <= number < rows(), and the rows of all splits are known.
  RowRange RowAt(int64_t number) const;

  // Returns the bytes of a split.
  base::Bytes BytesOf(int64_t split) const { return splits_[split].bytes; }

  // Tells whether a chunk may be cut in two: whether its split is seekable.
  bool Divisible(const RowRange& rows) const { return splits_[rows.split].seekable; }

  // Names the content of some rows, without the split's version and with it.
  base::Hash128 Hash(const RowRange& rows) const;
  base::Hash128 VersionedHash(const RowRange& rows) const;

 private:
  struct Entry {
    int64_t chunk_end = 0;  // Chunks up to the end of this split.
    int64_t run = 0;        // Rows per chunk, but for the last.
    int64_t rows = 0;
    base::Bytes bytes;
    bool seekable = false;
    base::Hash128 hash;
    base::Hash128 versioned_hash;
  };

  std::vector<Entry> splits_;      // One for each split, also where it has no rows.
  std::vector<int64_t> row_ends_;  // Rows up to the end of each split.
};

}  // namespace millrace::lanes
