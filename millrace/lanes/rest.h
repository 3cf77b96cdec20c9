// What is left of a pass: for each track the rows still to come, in their order. An
// order (order.h) is made from a rest, gives the rest after any of its batches, and a
// state (state.h) is a rest written down. Tracks are those of protocol.md section 4;
// logical order is a rest with one track and nothing carried. Plain values, O(lanes).
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/lanes/lane_set.h"

namespace millrace::lanes {

// Rows begin, ..., end - 1 of what comes out of a lane. Of a lane that gives runs
// (run_turns.h) its batches are counted so, and behind them the rows that fill no run.
struct LaneRange {
  int64_t lane = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t key = -1;      // Of runs: what it may be joined with; -1: not told.
  bool batches = false;  // Of runs, carried: whole batches, not rows.

  int64_t rows() const { return end - begin; }

  bool operator==(const LaneRange&) const = default;
};

// In which order lanes were dealt to the tracks: number i of that order to track i mod
// the number of tracks. Fixed for as long as the number of tracks stays.
struct Deal {
  std::vector<int64_t> first;  // Open lanes of an earlier deal, in the order they come.
  LaneSet others;              // Then these, ascending.

  bool operator==(const Deal&) const = default;
};

// Neither list holds an empty range.
struct Track {
  std::vector<LaneRange> carry;  // Joined tails, oldest first; each ends with its lane.
  std::vector<LaneRange> lanes;  // To be taken after, one lane after another.

  bool operator==(const Track&) const = default;
};

// A run that is being taken, of the track whose turn it is.
struct RunPlace {
  int64_t left = 0;      // Batches still to come of it; 0: none is.
  int64_t key = -1;      // Its key; -1: not told.
  bool carried = false;  // It is made of what is carried, else of the lane.

  bool operator==(const RunPlace&) const = default;
};

struct Rest {
  Deal deal;
  std::vector<Track> tracks;
  int64_t turn = 0;   // The track that is visited next.
  RunPlace run = {};  // There, where turns take runs.

  int64_t rows() const;

  bool operator==(const Rest&) const = default;
};

// Deals a whole pass, whose lanes have these numbers of rows. Requires: tracks >= 1.
Rest DealAll(const std::vector<int64_t>& lane_rows, int64_t tracks);

// Deals what is left to another number of tracks: lanes already begun come first, in
// the order of their turns, then the others, ascending. What was carried becomes part
// of its lane again; but what has a key stays carried, by the first track. Dealing
// twice is the same as dealing once.
Rest DealAnew(const Rest& rest, int64_t tracks);

}  // namespace millrace::lanes
