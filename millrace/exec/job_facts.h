// What is known of a planned pass before it runs, as plain data: all that whoever deals
// its lanes to workers and consumers needs, without the plan. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/sha256.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/listing.h"

namespace millrace::exec {

// The operator that joins lanes: the last that batches.
struct JoinFacts {
  std::string name;  // "batch".
  int number = 0;    // In the text form of the pipeline as it is run.
  int64_t batch_rows = 0;
  bool drop_remainder = false;
  std::optional<ir::KeyedRuns> runs =
      {};  // Where lanes give such: batches are counted.
};

struct JobFacts {
  std::optional<int64_t> lanes = {};  // None: there is no end of them.

  // Rows of each lane that was cut so far, as they come to the joining operator; empty
  // where only running them tells.
  std::vector<int64_t> lane_rows = {};

  // None: nothing is batched, or all of it within one lane; what comes out is counted.
  std::optional<JoinFacts> join = {};
  int64_t lane_bytes = 0;  // The least working set of an open lane, as far as known.
  base::Sha256 row_fingerprint = {};
  base::Sha256 fingerprint = {};  // The same with the size of the last batch.
  // What is joined last comes out as it is: a batch of another size is made of the rows
  // of these.
  bool resizable = false;
  base::Sha256 manifest_hash = {};
  std::vector<lanes::CutRecord> cuts = {};
  std::string one_lane_reason = {};  // Empty where there may be many.
  bool calls_python = false;         // It holds functions of the user's in Python.
};

// How a pass of a job is planned, alike by all who run lanes of it or read them: from
// the job's seed, what was listed for it, and how a state that it began from was cut.
PassOptions PassOfJob(uint64_t seed, int64_t pass, lanes::Listing listing,
                      std::vector<lanes::CutRecord> cuts);

// Whether a pipeline holds functions of the user's in Python, which run only where that
// is allowed.
bool CallsPython(const ir::Pipeline& pipeline);

// `written`: the pipeline as the user wrote it.
JobFacts FactsOf(const PassPlan& plan, const ir::Pipeline& written);

}  // namespace millrace::exec
