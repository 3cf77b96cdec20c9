// Fixed order, one position after another, as far as what is known of the lanes decides
// it: Turns (turns.h) where lanes give rows, RunTurns (run_turns.h) where they give
// runs of batches. Nothing changes unless a position is decided, so that what is left
// behind a position is the same for all who have decided it.
//
//   std::unique_ptr<Positions> positions = MakePositions(rest, batching, endless);
//   Positions::Step step = positions->Next(known);  // A batch, not known yet, the end.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"

#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {

class Positions {
 public:
  enum class Kind : uint8_t { kBatch, kUnknown, kEnd };

  struct Step {
    Kind kind = Kind::kEnd;
    // Of the batch, in order. Empty where lanes give runs and the position is one that
    // nothing is left for: others of its round have the last batches of their key.
    std::vector<LaneRange> rows = {};
    int64_t lane = -1;  // What is not known yet: how many rows it has.
  };

  virtual ~Positions() = default;

  // Decides the next position, if what is known suffices, and goes on behind it.
  virtual Step Next(const KnownLanes& known) = 0;

  // Counts the positions that were decided.
  virtual int64_t position() const = 0;

  // Deals one more lane, after all that were dealt: of a pass without end.
  virtual void DealMore(const LaneRange& lane) = 0;

  // What is left behind the positions that were decided.
  virtual Rest rest() const = 0;

  // Rows that are left when all positions are decided: nobody takes them.
  virtual int64_t left_out_rows() const = 0;

  // The lanes that the next positions come from: of each track what is carried, lanes
  // that are known to give no batch of their own, and the one behind them; then `more`
  // of each. Those needed sooner come first; each from its first row still to come.
  virtual std::vector<LaneRange> Ahead(int64_t more, const KnownLanes& known) const = 0;

  // Whether a track has lanes behind those that Ahead(0, known) lists.
  virtual bool HasMore(const KnownLanes& known) const = 0;

 protected:
  Positions() = default;
  Positions(const Positions&) = default;
  Positions& operator=(const Positions&) = default;
};

// Ranges that end at kRowsMax are of lanes whose rows are not known. An endless pass is
// dealt more lanes as they are needed: kUnknown without a lane asks for them.
// Requires: at least one track; batching.rows >= 1; where lanes give runs, CheckRuns
// found nothing.
std::unique_ptr<Positions> MakePositions(const Rest& rest, const Batching& batching,
                                         bool endless);

// What Ahead lists of one track.
struct TrackAhead {
  std::vector<LaneRange> carry;
  absl::Span<const LaneRange> lanes;  // From the current one on.
  int64_t next = 0;                   // Its first row still to come.
  int64_t passed = 0;                 // So many give no batch of their own.
};

// Of all tracks, beginning with the one whose turn it is.
std::vector<LaneRange> ListAhead(absl::Span<const TrackAhead> tracks, int64_t more);

}  // namespace millrace::lanes
