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
  bool slow = false;  // It was waited for too long, lately.
  const std::vector<api::Package>* packages = nullptr;  // Sorted by name; null: none.
};

struct LaneWish {
  int64_t lane = 0;
  std::set<std::string> hosts = {};    // Of the consumers that read it.
  std::string host = {};               // Of the one that waits for it, if one does.
  std::set<int64_t> avoid = {};        // Workers that failed it, or cannot be reached.
  bool now = false;                    // Else only where there is room.
  std::optional<int64_t> shared = {};  // The worker that has it for jobs that share it.
};

// Chooses among those that may run lanes of the job, and are not slow if there are
// such, the one with the least to do; of several such, one on a reader's host. A lane
// that is waited for goes to the host where it is, if a worker there has room; one that
// a worker has for other jobs already, there, where it costs nothing. Nothing where
// none may.
std::optional<int64_t> ChooseWorker(const std::vector<Candidate>& workers,
                                    const api::JobSettings& settings,
                                    const api::JobFacts& facts, const LaneWish& wish);

// The settings by which a worker is chosen to list a job's sources: nobody reads yet,
// and nothing is run.
api::JobSettings ForListing(api::JobSettings settings);

// Tells whether a worker may run a lane of a job at all.
bool MayRun(const api::WorkerFacts& worker, const api::JobSettings& settings,
            const api::JobFacts& facts, int64_t lane);

// Lanes of a job that one worker must be able to hold at once, so that one is enough:
// in fixed order all that are open, else one.
int64_t LanesToHold(const api::JobSettings& settings, const api::JobFacts& facts);

// Lanes of a job that a worker's memory holds.
int64_t LanesThatFit(const api::WorkerFacts& worker, const api::JobFacts& facts);

// Says which workers those are: "a worker with the tag gpu".
std::string WantedWorker(const api::JobSettings& settings, const api::JobFacts& facts);

}  // namespace millrace::control
