// Which worker is to run a lane. A pure function of what is known of the workers; the
// answer is soft, and may change at any time without harm.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "millrace/api/service.h"

namespace millrace::control {

// A worker that is alive.
struct Candidate {
  api::WorkerFacts facts = {};
  int64_t lanes = 0;  // That it has been given.
  bool draining = false;
};

struct LaneWish {
  int64_t lane = 0;
  std::string host = {};         // Of the consumer that reads it, where that is known.
  std::set<int64_t> avoid = {};  // Workers that failed it, or cannot be reached.
  bool now = false;              // Else only where there is room.
};

// Chooses among those that may run lanes of the job the one with the least to do, one
// on the reader's host if it has room; nothing where none may.
std::optional<int64_t> ChooseWorker(const std::vector<Candidate>& workers,
                                    const api::JobSettings& settings,
                                    const api::JobFacts& facts, const LaneWish& wish);

// Tells whether a worker may run a lane of a job at all.
bool MayRun(const api::WorkerFacts& worker, const api::JobSettings& settings,
            const api::JobFacts& facts, int64_t lane);

}  // namespace millrace::control
