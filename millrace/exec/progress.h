// How far a pass was taken, in rows that entered the joining operator: turns a position
// in the pass back into finished lanes and a cursor. Lanes are run, and so end, in
// order. O(lanes between the oldest position asked for and now) memory. Plain value.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "millrace/lanes/rest.h"

namespace millrace::exec {

class Progress {
 public:
  // What there is to run, in this order.
  explicit Progress(std::vector<lanes::LaneRange> lanes) : lanes_(std::move(lanes)) {}

  // There is one more to run, after all others.
  void Append(const lanes::LaneRange& lane) { lanes_.push_back(lane); }

  // The next lane has given all its rows: so many, those left out before not counted.
  void EndLane(int64_t rows);

  // What is left once all up to a position was taken. A lane whose rows are not known
  // ends at lanes::kRowsMax.
  std::vector<lanes::LaneRange> LeftAfter(int64_t position) const;

 private:
  std::vector<lanes::LaneRange> lanes_;
  std::vector<int64_t> ends_;  // Position at which each ended lane ends.
};

}  // namespace millrace::exec
