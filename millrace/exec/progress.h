// How far a pass was taken: turns what was given of each lane into finished lanes and
// cursors. A lane's *stream* is what enters its joining operator: what other lanes left
// over, then its own rows, then perhaps more that was left over; so a batch may hold
// rows of several lanes. A position in a stream counts the rows in batches up to there.
// O(lanes) memory. Plain value.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "millrace/lanes/rest.h"

namespace millrace::exec {

// Rows of the lane that is run in a turn.
struct TurnRows {
  int64_t turn = 0;
  int64_t rows = 0;

  bool operator==(const TurnRows&) const = default;
};

using Stream = std::vector<TurnRows>;

// What comes after so many rows of a stream.
Stream RestOf(const Stream& stream, int64_t position);

// How far each lane's stream was given, by turn.
using Positions = std::vector<int64_t>;

class Progress {
 public:
  // What there is to run, in turns.
  explicit Progress(std::vector<lanes::LaneRange> lanes) : lanes_(std::move(lanes)) {}

  // There is one more to run, after all others.
  void Append(const lanes::LaneRange& lane) { lanes_.push_back(lane); }

  // A lane begins, with what others left over.
  void Begin(int64_t turn, Stream before);

  // A lane has had all its rows; this was its stream.
  void End(int64_t turn, Stream stream);

  // What is left. `in_order`: a lane without rows is finished only with those before.
  // A lane whose rows are not known ends at lanes::kRowsMax.
  std::vector<lanes::LaneRange> LeftAfter(const Positions& positions,
                                          bool in_order) const;

 private:
  struct Run {
    Stream stream;
    bool ended = false;
  };

  // The rows of each lane that were given, by turn.
  std::vector<int64_t> Taken(const Positions& positions) const;

  std::vector<lanes::LaneRange> lanes_;
  std::vector<Run> runs_;  // By turn, of those begun.
};

}  // namespace millrace::exec
