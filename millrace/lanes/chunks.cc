#include "millrace/lanes/chunks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/lanes/manifest.h"

namespace millrace::lanes {
namespace {

int64_t DivideUp(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// The rows of a split's chunks, but for the last. Requires: the split has rows.
int64_t RunOf(const Split& split, const ChunkRule& rule) {
  if (!split.seekable) return *split.rows;
  const int64_t row_bytes = DivideUp(split.bytes.count(), *split.rows);
  const int64_t run =
      row_bytes == 0
          ? rule.rows
          : std::clamp<int64_t>(rule.bytes.count() / row_bytes, 1, rule.rows);
  if (split.grain == 0) return run;
  return std::max(run / split.grain, int64_t{1}) * split.grain;
}

int64_t CountChunks(const Manifest& manifest, const ChunkRule& rule) {
  int64_t chunks = 0;
  for (const Split& split : manifest.splits) {
    if (*split.rows > 0) chunks += DivideUp(*split.rows, RunOf(split, rule));
  }
  return chunks;
}

base::Hash128 HashRows(const base::Hash128& split, const RowRange& rows) {
  return base::Combine(
      split, {static_cast<uint64_t>(rows.begin), static_cast<uint64_t>(rows.end)});
}

}  // namespace

ChunkRule ChooseChunkRule(const Manifest& manifest) {
  const int64_t chunks_max = kChunksWanted + std::ssize(manifest.splits);
  ChunkRule rule;
  while (CountChunks(manifest, rule) > chunks_max) {
    rule.rows *= 2;
    rule.bytes *= 2;
    CHECK_LE(rule.rows, kRowsMax);  // Checked manifests end well before.
  }
  return rule;
}

ChunkTable::ChunkTable(const Manifest& manifest, const ChunkRule& rule) {
  CHECK_GE(rule.rows, 1);
  CHECK_GE(rule.bytes.count(), 1);
  splits_.reserve(manifest.splits.size());
  const bool counted = manifest.counted();
  int64_t chunks_before = 0;
  for (const Split& split : manifest.splits) {
    Entry entry{.chunk_end = chunks_before,
                .run = 1,
                .rows = split.rows.value_or(kRowsMax),
                .bytes = split.bytes,
                .seekable = counted && split.seekable,
                .hash = SplitHash(split),
                .versioned_hash = VersionedSplitHash(split)};
    if (entry.rows > 0) {
      entry.run = counted ? RunOf(split, rule) : entry.rows;
      entry.chunk_end += DivideUp(entry.rows, entry.run);
    }
    chunks_before = entry.chunk_end;
    splits_.push_back(entry);
    if (counted) row_ends_.push_back(rows() + entry.rows);
  }
}

RowRange ChunkTable::RowAt(int64_t number) const {
  CHECK(number >= 0 && number < rows()) << number;
  const auto end = std::ranges::partition_point(
      row_ends_, [&](int64_t row_end) { return row_end <= number; });
  const int64_t split = end - row_ends_.begin();
  const int64_t row = number - (split == 0 ? 0 : row_ends_[split - 1]);
  return {split, row, row + 1};
}

RowRange ChunkTable::Rows(int64_t chunk) const {
  CHECK(chunk >= 0 && chunk < chunks()) << chunk;
  const auto entry = std::ranges::partition_point(
      splits_, [&](const Entry& e) { return e.chunk_end <= chunk; });
  const int64_t split = entry - splits_.begin();
  const int64_t first = split == 0 ? 0 : splits_[split - 1].chunk_end;
  const int64_t begin = (chunk - first) * entry->run;
  return {split, begin, begin + std::min(entry->run, entry->rows - begin)};
}

base::Hash128 ChunkTable::Hash(const RowRange& rows) const {
  return HashRows(splits_[rows.split].hash, rows);
}

base::Hash128 ChunkTable::VersionedHash(const RowRange& rows) const {
  return HashRows(splits_[rows.split].versioned_hash, rows);
}

}  // namespace millrace::lanes
