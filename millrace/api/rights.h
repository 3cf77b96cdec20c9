// What a consumer and a dispatcher say to each other about rights: who may deliver
// which rows of which lane, in order "any" (protocol.md section 3). Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/describe.hpp>

namespace millrace::api {

// Where rows go that are given up, other than to a consumer.
inline constexpr int64_t kToLeftovers = -1;  // They are dealt once all lanes ended.
inline constexpr int64_t kToNobody = -2;     // They were lost with a worker.

inline constexpr int64_t kEndless = -1;  // Lanes of a pass that has no end.

// So many lanes of so many rows, one after another.
struct LaneRun {
  int64_t lanes = 0;
  int64_t rows = 0;

  bool operator==(const LaneRun&) const = default;
};

BOOST_DESCRIBE_STRUCT(LaneRun, (), (lanes, rows))

// What a consumer knows of a pass that it begins; the same from all of them.
struct PassFacts {
  int64_t pass = 0;
  int64_t lanes = 0;  // Or kEndless.
  int64_t batch_rows = 1;
  bool drop_remainder = false;
  std::vector<LaneRun> rows = {};  // Of all lanes; empty: not known beforehand.

  bool operator==(const PassFacts&) const = default;
};

BOOST_DESCRIBE_STRUCT(PassFacts, (), (pass, lanes, batch_rows, drop_remainder, rows))

// A consumer may deliver rows begin, ..., end - 1 of a lane, in batches counted from
// the first; and nobody else may. Its number is never used again.
struct Right {
  int64_t number = 0;
  int64_t lane = 0;
  int64_t begin = 0;
  int64_t end = 0;    // lanes::kRowsMax: to the lane's end.
  int64_t group = 0;  // Not 0: with others of this group it makes one batch.

  bool operator==(const Right&) const = default;
};

BOOST_DESCRIBE_STRUCT(Right, (), (number, lane, begin, end, group))

// Rows of a right that its owner gives up, and never takes from now on.
struct Promise {
  int64_t number = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t to = 0;  // A consumer, kToLeftovers, or kToNobody.

  bool operator==(const Promise&) const = default;
};

BOOST_DESCRIBE_STRUCT(Promise, (), (number, begin, end, to))

// How far a right has come.
struct RightPlace {
  int64_t number = 0;
  int64_t row = 0;  // The first that is not yet.

  bool operator==(const RightPlace&) const = default;
};

BOOST_DESCRIBE_STRUCT(RightPlace, (), (number, row))

// A consumer about a pass.
struct PassBeat {
  int64_t pass = 0;
  std::optional<PassFacts> facts = {};    // Until the dispatcher has them.
  std::vector<Promise> promises = {};     // Until they are seen to be kept.
  std::vector<RightPlace> finished = {};  // Taken to the end, which is that row.
  std::vector<RightPlace> received = {};  // Of the others.
  std::vector<RightPlace> redo = {};      // To be delivered again, from the start.
  bool hungry = false;                    // It has nothing left.

  bool operator==(const PassBeat&) const = default;
};

BOOST_DESCRIBE_STRUCT(PassBeat, (),
                      (pass, facts, promises, finished, received, redo, hungry))

// A consumer is asked to give up batches.
struct Ask {
  int64_t to = 0;
  int64_t batches = 0;  // 0: of a lane whose end is not known yet, what it can spare.

  bool operator==(const Ask&) const = default;
};

BOOST_DESCRIBE_STRUCT(Ask, (), (to, batches))

// The dispatcher about a pass, to one consumer.
struct PassNews {
  int64_t pass = 0;
  std::vector<Right> rights = {};  // All that it has.
  bool leased = false;             // All lanes of the pass are.
  int64_t horizon = 0;             // It may take so many batches.
  bool final = false;              // And no more than that.
  bool settled = false;   // All have what they will take: nobody needs its rights.
  int64_t fill = -1;      // Final: its place among those that fill the last round up.
  int64_t give_rows = 0;  // Rows that fill no batch, to be given up as leftovers.
  std::vector<Ask> asks = {};

  bool operator==(const PassNews&) const = default;
};

BOOST_DESCRIBE_STRUCT(PassNews, (),
                      (pass, rights, leased, horizon, final, settled, fill, give_rows,
                       asks))

}  // namespace millrace::api
