// What is known so far about the rows that come out of each lane, where that is learnt
// only by running them. It is learnt late, twice and out of order, from workers, other
// consumers and the dispatcher; nothing is ever unlearnt, so telling it again changes
// nothing. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace millrace::lanes {

struct KnownLane {
  int64_t rows = 0;    // At least so many come out.
  bool ended = false;  // And no more.
  // Of a lane that gives runs, once it has ended: how many of them, the last ones, are
  // rows that fill no run, by key.
  std::vector<int64_t> tails = {};

  // Those before them: of a lane that gives runs, its batches.
  int64_t before_tails() const;

  bool operator==(const KnownLane&) const = default;
};

// Whether there can be such a lane: for what came from elsewhere.
bool IsPossible(const KnownLane& known);

class KnownLanes {
 public:
  // Adds to what is known. Fails when that contradicts it: the lane came out otherwise
  // before.
  absl::Status Learn(int64_t lane, const KnownLane& known);

  KnownLane Get(int64_t lane) const;

  // Forgets a lane that nobody asks about any more.
  void Forget(int64_t lane) { lanes_.erase(lane); }

  size_t size() const { return lanes_.size(); }

  bool operator==(const KnownLanes&) const = default;

 private:
  absl::flat_hash_map<int64_t, KnownLane> lanes_;
};

}  // namespace millrace::lanes
