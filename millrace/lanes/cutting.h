// Cutting: how a pass over a source falls into lanes. Two steps: DecideCut makes a few
// numbers from pipeline and manifest, once per job (they are kept in its state, so that
// loading cuts the same way); LaneList applies them to one pass. When the user
// shuffles, the chunks are permuted by the pass's key; runs of them become lanes: by
// rows where these are known, else by bytes.
//
//   CutRecord record = TRY(DecideCut(manifest, facts));
//   LaneList lanes = TRY(LaneList::Cut(manifest, record, {seed, epoch, call}));
//
// Cutting walks the chunks once (about a million of them at most); after that a lane's
// content is made on demand. O(lanes + splits) memory; immutable.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/base/hash.h"
#include "millrace/base/permutation.h"
#include "millrace/base/random.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"

namespace millrace::lanes {

// What the pipeline says about its lanes.
struct CutFacts {
  int64_t batch_rows = 0;      // Rows per batch, over all batching; 0: no batching.
  int64_t shuffle_window = 0;  // Rows of the largest one; 0: none.
  int64_t buckets = 0;         // Of `bucket`; 0: none.
  int64_t run_rows = 0;        // Of some runs of each bucket; 0: lanes give no runs.
  bool shuffled = false;       // The user shuffles: chunks are permuted.
  bool permuted = false;       // Or rows are, all of them.
  bool counts_change = false;  // An operator changes the number of rows.
  bool sinks = false;          // Lanes become files, …
  bool cut_shows = false;      // … unless rows depend on it, fewer and longer ones.

  // Why the pass must be one lane, in words for people; empty: it need not.
  std::string one_lane_reason = {};
};

// How the source is cut: decided once, recorded in the state.
struct CutRecord {
  bool counted = true;      // Row counts were known.
  bool shuffled = false;    // Chunks are permuted.
  bool permuted = false;    // Rows are.
  bool by_chunk = false;    // Every chunk is a lane.
  ChunkRule chunk = {};     // How splits are cut into chunks.
  int64_t lane_rows = 1;    // Rows a lane gets, or a little more.
  bool exact_ends = false;  // Divisible chunks are cut so that a lane gets just that.
  base::Bytes lane_bytes = {};  // The same where rows are not known; 0 where they are.

  bool operator==(const CutRecord&) const = default;
};

// Decides how to cut. Fails for absurd numbers, naming them.
absl::StatusOr<CutRecord> DecideCut(const Manifest& manifest, const CutFacts& facts);

// Cuts so that every chunk is a lane, in order: by the manifest alone.
// Requires: Check found nothing.
CutRecord CutByChunk(const Manifest& manifest);

// The lanes of one pass.
class LaneList {
 public:
  // Cuts a pass. `key` orders the chunks: (seed, epoch, number of the shuffle).
  static absl::StatusOr<LaneList> Cut(const Manifest& manifest, const CutRecord& record,
                                      const base::RandomKey& key);

  int64_t size() const { return std::ssize(rows_); }

  // The rows of each lane, all at least 1; kRowsMax where they are not known.
  const std::vector<int64_t>& lane_rows() const { return rows_; }

  // Lists a lane's rows: one range for each chunk, in order, or for each row where
  // these are permuted; costing as much. Requires: 0 <= lane < size().
  std::vector<RowRange> Content(int64_t lane) const;

  // Names a lane's content, whatever its number and the files' versions: a lane's
  // shuffle is seeded with it.
  base::Hash128 ContentHash(int64_t lane) const;

  // The same with the versions: entries of stateful prefixes in caches are keyed with
  // it.
  base::Hash128 VersionedContentHash(int64_t lane) const;

 private:
  // Where a lane begins: at a row of the chunk that stands at a place of the order.
  struct Start {
    int64_t place = 0;
    int64_t offset = 0;  // From the chunk's first row.
  };

  LaneList(ChunkTable chunks, const CutRecord& record, const base::RandomKey& key);

  void CutChunks();
  void CutByRows(const CutRecord& record);
  void CutPermutation(const CutRecord& record);
  void CutByBytes(const CutRecord& record);
  void EndLane(int64_t rows, Start next);
  RowRange ChunkAt(int64_t place) const;

  ChunkTable chunks_;
  bool shuffled_;
  bool permuted_;
  base::Permutation permutation_;
  std::vector<int64_t> rows_;
  std::vector<Start> starts_;  // Of every lane, and of the end.
};

// Cuts rows begin, ..., end - 1 out of a lane's content. Requires: it has them.
std::vector<RowRange> Slice(const std::vector<RowRange>& content, int64_t begin,
                            int64_t end);

}  // namespace millrace::lanes
