// Fixed order over runs of batches: coordinated reads (protocol.md section 4). A lane
// gives runs, each so many batches of one key (a bucket); a turn takes a whole run,
// which is some rounds, batch i of a round for consumer i: in every round all have
// batches of one key.
//
// What a lane gives is counted so: its batches, then the rows that fill no run, key
// after key (KnownLane::tails). These are carried by their track, by key, and make its
// next run as soon as they suffice. What all tracks carry at the end is joined by key,
// in track order. A carried batch is a whole one, or is made of rows of tails: whole
// ones come first, so that none is ever cut.
//
// Begun inside a run by other consumers than took its first rounds: the batches that
// fill no round of theirs are carried, and the rounds that still fit come first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"

#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/positions.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {

class RunTurns final : public Positions {
 public:
  RunTurns(const Rest& rest, const Batching& batching, bool endless = false);

  Step Next(const KnownLanes& known) override;

  int64_t position() const override { return position_; }

  void DealMore(const LaneRange& lane) override;
  Rest rest() const override;
  int64_t left_out_rows() const override;
  std::vector<LaneRange> Ahead(int64_t more, const KnownLanes& known) const override;
  bool HasMore(const KnownLanes& known) const override;

 private:
  // What is carried of one key, oldest first.
  struct Carry {
    std::deque<LaneRange> batches;
    std::deque<LaneRange> rows;
  };

  struct TrackPlace {
    std::vector<Carry> carry;      // By key.
    std::vector<LaneRange> lanes;  // Of the track, from the start on.
    int64_t lane = 0;              // The current one's place in them.
    int64_t next = 0;              // Its next batch.
  };

  // What a visit to a track will find.
  struct Found {
    Kind kind = Kind::kEnd;
    int64_t lane = -1;   // kUnknown: of this.
    int64_t passed = 0;  // Lanes whose tails the visit joins to the carry.
    RunPlace run = {};   // kBatch.
  };

  void FitRun();
  Found Look(const TrackPlace& track, const KnownLanes& known) const;
  void JoinTails(TrackPlace& track, int64_t lanes, const KnownLanes& known);
  Step TakeOfRun();
  Step Leftover();
  int64_t KeyLeft() const;
  int64_t BatchesLeft(size_t key) const;
  std::vector<LaneRange> TakeLeft(size_t key);
  std::vector<LaneRange> TakeCarried(Carry& carry, int64_t size) const;
  static std::vector<LaneRange> Carried(const TrackPlace& track);

  Deal deal_;
  Runs runs_;
  bool drop_remainder_;
  bool endless_;
  std::vector<TrackPlace> tracks_;
  int64_t turn_;
  RunPlace run_;   // That is being taken, of the track whose turn it is.
  int64_t dealt_;  // Lanes, in all.
  int64_t position_ = 0;
  bool rounds_over_ = false;  // No track has more; what is carried is joined.
  int64_t left_key_ = 0;      // Then: of the round that is being taken.
};

// Checks what a state left of a pass: with keys and places that there are.
absl::Status CheckRuns(const Rest& rest, const Runs& runs);

// Checks what a lane is said to have come out with.
absl::Status CheckRuns(int64_t lane, const KnownLane& known, const Runs& runs);

}  // namespace millrace::lanes
