// The batches of one track, in order, found by arithmetic. A visit first takes a batch
// from the carry if it holds one, else from the current lane; a lane with less than a
// batch left adds its tail to the carry and the next lane is current. TrackOrder
// (tracks.h) interleaves several of these. Immutable; finding a batch is a binary
// search.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/lanes/rest.h"

namespace millrace::lanes {

class TrackStream {
 public:
  // Requires: batch_rows >= 1.
  TrackStream(const Track& track, int64_t batch_rows);

  // Counts the full batches.
  int64_t batches() const { return end().batches_before; }

  // Counts the rows in the carry once all batches are taken: less than a batch.
  int64_t leftover() const { return end().tails_before % batch_rows_; }

  // Lists the rows of a batch. Requires: 0 <= batch < batches().
  std::vector<LaneRange> At(int64_t batch) const;

  // Gives what is left after so many visits. A visit that finds no batch leaves all
  // tails joined.
  Track After(int64_t visits) const;

  // Lists the leftover rows from `begin` up to `end`. Requires: within leftover().
  std::vector<LaneRange> Leftover(int64_t begin, int64_t end) const;

 private:
  // A lane of the track or, in front of those, a tail that was carried from the start.
  // All tails, in order, are one stream of rows: batch i of the carry is rows
  // i * batch_rows_ and following of that stream.
  struct Entry {
    LaneRange range;
    int64_t batches = 0;         // The lane's own.
    int64_t batches_before = 0;  // Of the track, before this lane is begun.
    int64_t tails_before = 0;    // Rows of that stream, likewise.
  };

  const Entry& end() const { return entries_.back(); }

  void Add(const LaneRange& range, int64_t batches);
  int64_t EntryOf(int64_t batch) const;
  std::vector<LaneRange> Tails(int64_t begin, int64_t end) const;

  int64_t batch_rows_;
  int64_t carried_;             // So many entries are the carry.
  std::vector<Entry> entries_;  // The last is empty: it holds the sums.
};

}  // namespace millrace::lanes
