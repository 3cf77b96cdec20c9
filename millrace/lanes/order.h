// An order says which rows make the batch at each position of an incarnation (one start
// of a job from a state, or from nothing), and what is left after any number of them.
// There are two: LogicalOrder (in-process) and TrackOrder (the service's "fixed").
// Known row counts make both arithmetic: nothing is replayed. Immutable once made, so
// any number of threads may ask.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/lanes/rest.h"

namespace millrace::lanes {

// Lanes that give runs: batches of one key, so many one after the other, for as many
// consumers to take together (protocol.md section 4, coordinated reads).
struct Runs {
  int64_t group = 1;                // Batches in a run.
  std::vector<int64_t> sizes = {};  // Rows per batch, by key.
  int64_t consumers = 1;            // Of each round; they divide the group.
  bool whole_rounds = false;        // What fills no round at the end is left out.

  bool operator==(const Runs&) const = default;
};

struct Batching {
  int64_t rows = 1;               // Per batch; of lanes that give runs, batches: 1.
  bool drop_remainder = false;    // Leaves out a short last batch, once per pass.
  std::optional<Runs> runs = {};  // Where lanes give such.
};

class Order {
 public:
  Order() = default;
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;
  virtual ~Order() = default;

  // Counts the batches.
  virtual int64_t positions() const = 0;

  // Lists the rows of one batch, in order: usually one range; several where tails are
  // joined or a batch crosses lanes. Requires: 0 <= position < positions().
  virtual std::vector<LaneRange> At(int64_t position) const = 0;

  // Gives what is left once that many batches are taken. Requires: 0 <= taken <=
  // positions().
  virtual Rest After(int64_t taken) const = 0;
};

// Tells which consumer takes a position.
inline int64_t Owner(int64_t position, int64_t consumers) {
  return position % consumers;
}

}  // namespace millrace::lanes
