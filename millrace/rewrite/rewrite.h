// Applies the exact rewrites to a pipeline, round after round, until none has anything
// to say. Pure: the same pipeline always gives the same result.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/rewrite/pass.h"

namespace millrace::rewrite {

// Every pass there is, in order.
std::vector<Pass> AllPasses();

struct RewriteOptions {
  std::vector<std::string> off;  // Names of passes to leave out; "all" for every one.
};

// One change: which pass made it, and why, in words for people.
struct Step {
  std::string pass;
  std::string reason;
};

struct Rewritten {
  ir::Pipeline before;
  ir::Pipeline after;
  std::vector<Step> steps;
};

// A pipeline that runs as it is written.
inline Rewritten Unchanged(const ir::Pipeline& pipeline) {
  return {pipeline, pipeline, {}};
}

// Rewrites a pipeline. An unknown name in the options is an error that lists the
// passes.
absl::StatusOr<Rewritten> Rewrite(const ir::Pipeline& pipeline,
                                  const ir::Catalog& catalog,
                                  const RewriteOptions& options = {});

// Shows a pipeline before and after, and the reason for each step.
std::string Explain(const Rewritten& rewritten);

}  // namespace millrace::rewrite
