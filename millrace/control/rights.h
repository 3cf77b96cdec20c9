// Who may deliver which rows of a pass in order "any" (protocol.md section 3): the part
// of the dispatcher's state that says so, and the changes it goes through. At any time
// a row belongs to one right at most; a right is leased, moved in part or whole, and
// finished. What became of those that are finished is kept as counts. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/describe.h"  // IWYU pragma: keep
#include "millrace/api/rights.h"

namespace millrace::control {

struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;  // lanes::kRowsMax: to the lane's end.

  bool operator==(const RowRange&) const = default;
};

BOOST_DESCRIBE_STRUCT(RowRange, (), (begin, end))

// Where a pass begins that shares the rows of others, which were there before it: with
// the lanes that these have open, each from the row where it is, then those behind.
// What it has missed comes last; where there is no end of lanes, not at all.
struct LateStart {
  int64_t first_lane = 0;
  std::vector<api::RightPlace> open = {};  // Lanes from there on, and their rows.

  bool operator==(const LateStart&) const = default;
};

BOOST_DESCRIBE_STRUCT(LateStart, (), (first_lane, open))

// The next lane of the pass goes to a consumer: a right for each range that is left.
struct Lease {
  int64_t consumer = 0;
  std::vector<RowRange> ranges = {};

  bool operator==(const Lease&) const = default;
};

BOOST_DESCRIBE_STRUCT(Lease, (), (consumer, ranges))

// Rows of a right become another's, or nobody's; those around them stay.
struct Move {
  api::Promise rows = {};
  int64_t group = 0;  // Not 0: leftovers, dealt as part of this batch.

  bool operator==(const Move&) const = default;
};

BOOST_DESCRIBE_STRUCT(Move, (), (rows, group))

// A change of a pass, as it is journaled: one of these.
struct PassChange {
  std::optional<api::PassFacts> begun = {};
  std::optional<Lease> leased = {};
  std::optional<Move> moved = {};
  std::optional<api::RightPlace> finished = {};  // Taken up to that row, its end.
  std::optional<api::RightPlace> redone = {};    // The same, and leased again.
  std::optional<int64_t> counted = {};           // All batches, which are so many.
  std::optional<LateStart> late = {};            // Beside `begun`.

  bool operator==(const PassChange&) const = default;
};

BOOST_DESCRIBE_STRUCT(PassChange, (),
                      (begun, leased, moved, finished, redone, counted, late))

struct OwnedRight {
  api::Right right = {};
  int64_t consumer = 0;  // Or api::kToLeftovers.

  bool operator==(const OwnedRight&) const = default;
};

BOOST_DESCRIBE_STRUCT(OwnedRight, (), (right, consumer))

// What a consumer was dealt, as far as it has finished it.
struct Tally {
  int64_t batches = 0;
  int64_t tail_rows = 0;  // That filled no batch of their right.

  bool operator==(const Tally&) const = default;
};

BOOST_DESCRIBE_STRUCT(Tally, (), (batches, tail_rows))

struct PassRights {
  api::PassFacts facts = {};
  LateStart late = {};
  int64_t next_lane = 0;  // So many leases were made: see LaneOfLease.
  int64_t next_number = 1;
  int64_t next_group = 1;
  int64_t batches = -1;                 // In all, once they are counted.
  std::vector<OwnedRight> rights = {};  // Ascending by number.
  std::vector<Tally> tallies = {};      // By consumer.

  bool operator==(const PassRights&) const = default;
};

BOOST_DESCRIBE_STRUCT(PassRights, (),
                      (facts, late, next_lane, next_number, next_group, batches, rights,
                       tallies))

// Adds to a count of rows or batches, up to lanes::kRowsMax: what they are counted from
// is what consumers say, which need not be true.
void Increase(int64_t& count, int64_t by);

// Applies a change. Fails, and changes nothing, when it makes no sense here.
absl::Status Apply(PassRights& pass, const PassChange& change);

// Tells whether all lanes of the pass are leased; never, where there is no end of them.
bool IsLeased(const PassRights& pass);

// Which lane, and which rows of it as far as they are left, a lease is of, by its
// number from 0 on. Requires: there is such a lane.
struct LeasedLane {
  int64_t lane = 0;
  RowRange rows = {};
};

LeasedLane LaneOfLease(const PassRights& pass, int64_t number);

// Tells whether rows of a lane are still to be leased.
bool IsToBeLeased(const PassRights& pass, int64_t lane);

const OwnedRight* Find(const PassRights& pass, int64_t number);

// Tells whether an owner may give these rows up: it has them. An old answer, to a move
// that was made, is none.
bool MayMove(const PassRights& pass, int64_t owner, const api::Promise& promise);

// Tells whether an owner may say that a right has come to this row.
bool MayReach(const PassRights& pass, int64_t owner, const api::RightPlace& place);

}  // namespace millrace::control
