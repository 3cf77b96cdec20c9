// The state of a pass: what was taken, and all that is needed to go on from there, in
// this process or another, with other workers, consumers, batch size or order. Small:
// finished lanes as ranges, a cursor for every open lane, the carry (protocol.md
// section 6). Plain data; its JSON is another layer's.
//
//   State state{...};                             // Who and where: pass, seed, hashes.
//   SetRest(state, order.After(taken), lanes);    // What was taken.
//   ...
//   TRY(Fits(state, job));                        // Loading:
//   Rest rest = TRY(Resume(state, lane_rows, {OrderKind::kFixed, 16}));
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/sha256.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/lane_set.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {

enum class OrderKind { kLogical, kFixed, kAny };

struct OrderRecord {
  OrderKind kind = OrderKind::kLogical;
  int64_t tracks = 1;  // 1 in logical and any order.
  bool runs = false;   // Lanes give runs, of which batches are counted.

  bool operator==(const OrderRecord&) const = default;
};

// A tail that fills no batch yet: the lane's rows from the cursor on. Where lanes give
// runs it has a key and an end, and may be whole batches (run_turns.h).
struct CarryPiece {
  int64_t track = 0;
  Cursor from;
  int64_t end = -1;  // -1: the lane's.
  int64_t key = -1;
  bool batches = false;

  bool operator==(const CarryPiece&) const = default;
};

// In any order: rows that were taken of a lane that is not finished.
struct TakenLane {
  int64_t lane = 0;
  LaneSet rows;
  int64_t end = -1;  // So many rows the lane has; -1: that is not known.

  bool operator==(const TakenLane&) const = default;
};

struct State {
  int64_t pass = 0;
  uint64_t epoch = 0;  // Enters the seeds.
  uint64_t seed = 0;
  base::Sha256 row_fingerprint;  // Of the pipeline, less the size of its last batching.
  base::Sha256 manifest_hash;
  std::vector<CutRecord> cuts;  // Of every source, in the order of the pipeline.
  int64_t lanes = 0;            // In the pass; of an endless one, as far as it was cut.
  int64_t copies = 1;           // Of all rows in the pass, with sharding off.

  OrderRecord order;
  int64_t turn = 0;               // The track visited next.
  RunPlace run = {};              // That is being taken there.
  Deal deal;                      // How lanes were dealt to the tracks.
  LaneSet finished;               // Lanes taken whole.
  std::vector<Cursor> cursors;    // Of open lanes, ascending by lane.
  std::vector<CarryPiece> carry;  // By track, oldest first.
  std::vector<TakenLane> taken;   // In any order, in place of cursors (taken.h).
  int64_t step = 0;               // In any order: batches that each consumer took.
  int64_t part = 0;               // In any order: of this consumer …
  int64_t parts = 1;              // … of so many; 1: of all, joined.

  bool operator==(const State&) const = default;
};

// What a job demands of a state it loads.
struct JobFacts {
  base::Sha256 row_fingerprint;
  base::Sha256 manifest_hash;
  std::optional<uint64_t> seed;                // Where the user set it.
  std::optional<std::vector<CutRecord>> cuts;  // Where the job was cut already.
};

// Makes the order that a rest is given in.
std::unique_ptr<Order> MakeOrder(OrderKind kind, Rest rest, const Batching& batching);

// Writes down what is left of a pass of so many lanes: turn, deal, finished lanes,
// cursors, carry. Digests are left empty; whoever counts them fills them in. Requires:
// the rest has as many tracks as state.order says.
void SetRest(State& state, const Rest& rest, int64_t lanes);

// Reads back what SetRest wrote. The state may come from anywhere: what contradicts
// itself or the lanes is an error that says what.
absl::StatusOr<Rest> GetRest(const State& state, const std::vector<int64_t>& lane_rows);

// Gives what is left, for going on in an order: just as it was where the order is the
// state's own, else dealt anew. A state of lanes that give runs counts otherwise than
// one of lanes that give rows, and goes on only where they do.
absl::StatusOr<Rest> Resume(const State& state, const std::vector<int64_t>& lane_rows,
                            const OrderRecord& order);

// Checks that a job may go on from a state; the error names the first difference, with
// both values.
absl::Status Fits(const State& state, const JobFacts& job);

// Writes a state for people, a line for each fact.
std::string ToString(const State& state);

}  // namespace millrace::lanes
