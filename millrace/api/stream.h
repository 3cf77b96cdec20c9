// What a consumer and a worker say to each other on their stream: heads of messages, as
// described structs. A consumer says who it is, then what it wants; the worker answers
// with batches, each with its rows in a frame behind the head, strictly in the order of
// each want, and with the ends of lanes. Plain data.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe.hpp>

#include "millrace/api/error.h"
#include "millrace/base/hash.h"

namespace millrace::api {

// A lane of a pass, of a job that both ends know. In any order it is run once for each
// right to it, so that one reader never holds up another.
struct LaneAddress {
  int64_t pass = 0;
  int64_t lane = 0;
  int64_t right = 0;  // Its number; 0 in fixed order.

  auto operator<=>(const LaneAddress&) const = default;
};

BOOST_DESCRIBE_STRUCT(LaneAddress, (), (pass, lane, right))

// Who reads: one opening of a member of a consumer of one start of a job.
struct ReaderHello {
  int64_t job = 0;
  int64_t incarnation = 0;
  int64_t consumer = 0;
  int64_t member = 0;
  int64_t generation = 0;
  int64_t members = 1;  // Of this consumer.

  auto operator<=>(const ReaderHello&) const = default;
};

BOOST_DESCRIBE_STRUCT(ReaderHello, (),
                      (job, incarnation, consumer, member, generation, members))

// Rows that a reader wants of a lane; it has room for them. Where the lane ends before,
// its end is the answer.
struct Want {
  LaneAddress at = {};
  int64_t begin = 0;
  int64_t end = 0;
  int64_t batch =
      0;  // The first row of the batch that they are in: redoing begins there.

  auto operator<=>(const Want&) const = default;
};

BOOST_DESCRIBE_STRUCT(Want, (), (at, begin, end, batch))

// The head of rows of a lane. Digests are of all rows of the lane before, and with
// them.
struct BatchHead {
  LaneAddress at = {};
  int64_t begin = 0;
  int64_t end = 0;
  bool tail =
      false;  // Rows that fill no batch: nothing behind batching was done to them.
  int64_t bytes = 0;
  base::Hash128 digest_before = {};
  base::Hash128 digest = {};
  bool last = false;                // The lane ends with them.
  int64_t key = -1;                 // The bucket of the batch, where lanes give runs.
  std::vector<int64_t> tails = {};  // Where it is the last: see LaneEnd.

  bool operator==(const BatchHead&) const = default;
};

BOOST_DESCRIBE_STRUCT(BatchHead, (),
                      (at, begin, end, tail, bytes, digest_before, digest, last, key,
                       tails))

struct LaneEnd {
  LaneAddress at = {};
  int64_t rows = 0;
  // Where lanes give runs of batches: how many of these, the last ones, are rows that
  // fill no run, by bucket. Those before are batches.
  std::vector<int64_t> tails = {};

  auto operator<=>(const LaneEnd&) const = default;
};

BOOST_DESCRIBE_STRUCT(LaneEnd, (), (at, rows, tails))

// Rows of a lane that its readers do without: they had fallen out of a window.
struct LaneSkip {
  LaneAddress at = {};
  int64_t begin = 0;
  int64_t end = 0;

  auto operator<=>(const LaneSkip&) const = default;
};

BOOST_DESCRIBE_STRUCT(LaneSkip, (), (at, begin, end))

// A lane that cannot be run, here or anywhere.
struct LaneFailure {
  LaneAddress at = {};
  Error error = {};

  bool operator==(const LaneFailure&) const = default;
};

BOOST_DESCRIBE_STRUCT(LaneFailure, (), (at, error))

// One message of a reader. Wants are added to those it has; a lane that it forgets is
// wanted no more.
struct ReaderMessage {
  std::optional<ReaderHello> hello = {};
  std::vector<LaneAddress> forget = {};
  std::vector<Want> wants = {};

  bool operator==(const ReaderMessage&) const = default;
};

BOOST_DESCRIBE_STRUCT(ReaderMessage, (), (hello, forget, wants))

// One message of a worker: one of these.
struct WorkerMessage {
  std::optional<BatchHead> batch = {};
  std::optional<LaneEnd> end = {};
  std::optional<LaneFailure> failure = {};
  std::optional<std::string> refused = {};  // Why; nothing follows.
  std::optional<LaneSkip> skip = {};

  bool operator==(const WorkerMessage&) const = default;
};

BOOST_DESCRIBE_STRUCT(WorkerMessage, (), (batch, end, failure, refused, skip))

}  // namespace millrace::api
