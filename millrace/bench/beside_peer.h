// A workload of ours beside the same work in another system, in turn in one run.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/bench/line.h"
#include "millrace/bench/workload.h"

namespace millrace::bench {

struct PeerCall {
  std::string program;  // Of those below peers/.
  std::vector<std::string> arguments;
  bool makes_data = false;  // Without it there is nothing to measure.
};

// Gives the line with both medians. Where the other system is not installed the line
// says so, and has no limit.
absl::StatusOr<std::vector<Line>> BesidePeer(const BenchOptions& options,
                                             const PeerCall& call, Measure ours,
                                             Line line);

}  // namespace millrace::bench
