// Fixed order: the interleaving of lanes that the service gives by default (protocol.md
// section 4). Turns go round c tracks; each visit takes the next batch of its track; a
// track that has no more is passed over. Rows that fill no batch at a lane's end join
// the track's carry at the visit that finds the lane ended, and a carry that fills is
// the track's next batch. What is left when all tracks are done is joined in track
// order.
//
//   lanes   0: aaaaa  1: bbbbb  2: ccc       two tracks, batches of 2
//   tracks  0: aa aa (a) cc ac               1: bb bb (b)
//   order   aa bb aa bb cc ac b
//
// Finding a batch costs O(log lanes), and O(tracks) once the first track is done.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/track_stream.h"

namespace millrace::lanes {

inline constexpr int64_t kTracksMax = int64_t{1} << 16;

struct TrackFacts {
  int64_t consumers = 1;
  int64_t open_lanes = 0;       // What the user asks for; 0: nothing.
  base::Bytes lane_bytes = {};  // Least working set of one open lane.
};

// Chooses the number of tracks: what the user asks for, or the smallest multiple of the
// consumers that is at least 16, less where that many open lanes would need over 4 GiB.
absl::StatusOr<int64_t> TrackCount(const TrackFacts& facts);

class TrackOrder final : public Order {
 public:
  // Requires: at least one track; batching.rows >= 1.
  TrackOrder(Rest rest, const Batching& batching);

  int64_t positions() const override { return sums_.back() + leftover_batches_; }

  std::vector<LaneRange> At(int64_t position) const override;

  Rest After(int64_t taken) const override;

 private:
  // Visit `number` of a round, both from 0. Rounds begin with the rest's turn.
  struct Visit {
    int64_t round = 0;
    int64_t number = 0;
  };

  int64_t TrackOf(int64_t visit_number) const;
  Visit VisitOf(int64_t position) const;
  std::vector<LaneRange> Leftover(int64_t begin, int64_t end) const;
  Rest AfterLeftover(int64_t rows) const;

  Rest rest_;
  int64_t batch_rows_;
  std::vector<TrackStream> streams_;
  std::vector<int64_t> counts_;  // Batches of each track, ascending.
  std::vector<int64_t> sums_;    // Positions in the first counts_[i] rounds.
  int64_t leftover_rows_ = 0;    // Joined after the rounds.
  int64_t leftover_batches_ = 0;
};

}  // namespace millrace::lanes
