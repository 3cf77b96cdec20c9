// Fixed order, one position after another, where the rows of lanes need not be known
// beforehand: turns go round the tracks, and each position is decided as soon as what
// is known of the lanes decides it. Where all rows are known it gives what TrackOrder
// (tracks.h) finds by arithmetic; that is its definition, and its test.
//
//   Turns turns(rest, batching);
//   Turns::Step step = turns.Next(known);   // A batch, not known yet, or the end.
//
// O(1) a position. A plain value: a copy goes on from where it was made.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/positions.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {

class Turns final : public Positions {
 public:
  Turns(const Rest& rest, const Batching& batching, bool endless = false);

  Step Next(const KnownLanes& known) override;

  int64_t position() const override { return position_; }

  void DealMore(const LaneRange& lane) override;
  Rest rest() const override;

  // What drop_remainder leaves out is the pipeline's own wish.
  int64_t left_out_rows() const override { return 0; }

  std::vector<LaneRange> Ahead(int64_t more, const KnownLanes& known) const override;
  bool HasMore(const KnownLanes& known) const override;

 private:
  struct TrackPlace {
    std::deque<LaneRange> carry;   // Tails, oldest first.
    std::vector<LaneRange> lanes;  // Of the track, from the start on.
    int64_t lane = 0;              // The current one's place in them.
    int64_t row = 0;               // Its next.
  };

  // What a visit to a track will find.
  struct Found {
    Kind kind = Kind::kEnd;
    int64_t lane = -1;     // kUnknown: of this.
    int64_t passed = 0;    // Lanes whose tails the visit joins to the carry.
    bool carried = false;  // kBatch: it is in the carry then.
  };

  Found Look(const TrackPlace& track, const KnownLanes& known) const;
  void JoinTails(TrackPlace& track, int64_t lanes, const KnownLanes& known);
  std::vector<LaneRange> TakeBatch(TrackPlace& track, bool carried);
  Step Leftover();

  Deal deal_;
  int64_t batch_rows_;
  bool drop_remainder_;
  bool endless_;
  std::vector<TrackPlace> tracks_;
  int64_t turn_;
  int64_t dealt_;  // Lanes, in all.
  int64_t position_ = 0;
  bool rounds_over_ = false;  // No track has more; what is carried is joined.
};

}  // namespace millrace::lanes
