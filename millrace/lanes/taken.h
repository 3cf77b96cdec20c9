// Which rows of a pass were taken, where that can be any: in order "any" consumers take
// ranges out of the middle of lanes (protocol.md section 6). One consumer's part of it
// is what it took itself; the first consumer's is also what the state said that all
// began with. Parts of one step are joined to the whole. Small: finished lanes are a
// set. A plain value.
//
//   Taken taken = TRY(TakenOf(state, lane_rows));
//   taken.Add({lane, 0, 256});
//   SetTaken(state, taken);
//   State whole = TRY(JoinStates({state, other}));
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/lanes/lane_set.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"

namespace millrace::lanes {

class Taken {
 public:
  // Adds rows that were taken.
  void Add(const LaneRange& range);

  // Takes rows back: they are to be delivered again. Requires: the lane is not
  // finished.
  void Remove(const LaneRange& range);

  // Learns how many rows the lane has: once all are taken it is finished.
  void End(int64_t lane, int64_t rows);

  void AddFinished(int64_t begin, int64_t end) { finished_.Add(begin, end); }

  // Lists what is left of a lane, ascending; the last range ends at kRowsMax where the
  // end of the lane is not known.
  std::vector<LaneRange> Open(int64_t lane) const;

  const LaneSet& finished() const { return finished_; }

  // Lanes that were taken in part.
  std::vector<TakenLane> parts() const;

  // Adds what another took, of the same lanes.
  void Join(const Taken& other);

  // Tells whether both have some row.
  bool Overlaps(const Taken& other) const;

  bool operator==(const Taken&) const = default;

 private:
  struct Lane {
    LaneSet rows;
    std::optional<int64_t> end;

    bool operator==(const Lane&) const = default;
  };

  void Settle(int64_t number);

  std::map<int64_t, Lane> lanes_;
  LaneSet finished_;
};

// Reads what was taken out of a state, of any order. The state may come from anywhere:
// what contradicts itself or the lanes is an error that says what.
absl::StatusOr<Taken> TakenOf(const State& state,
                              const std::vector<int64_t>& lane_rows);

// Writes it down; the state is one of order "any" then, and still the part that it
// says it is.
void SetTaken(State& state, const Taken& taken);

// The rows of so many lanes, where they are not known. The number may come from
// anywhere: an absurd one is an error.
absl::StatusOr<std::vector<int64_t>> UnknownRows(int64_t lanes);

// How many lanes it knows of: up to the last that anything was taken of.
int64_t LanesIn(const Taken& taken);

// Joins the parts of all consumers, given in any order. Fails where one is missing,
// where they are not of one step, or where two of them took the same rows.
absl::StatusOr<State> JoinStates(const std::vector<State>& parts);

}  // namespace millrace::lanes
