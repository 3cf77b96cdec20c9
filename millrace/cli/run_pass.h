// Runs a pass of a pipeline in an engine of its own, for the verbs that do so.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/cli/verb.h"  // IWYU pragma: keep: declares CLI::App.
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/machine.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/profile/facts.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {

struct PassFlags {
  std::string file;  // Of the pipeline.
  std::vector<std::string> off;
  int threads = exec::AvailableThreads();
  int64_t memory_bytes = exec::DefaultMemoryBytes();
  int64_t cache_bytes = exec::DefaultMemoryBytes();
  uint64_t seed = 0;
  uint64_t epoch = 0;
  std::string order = "logical";
  bool build_indexes = false;
  int64_t blocks = std::numeric_limits<int64_t>::max();  // At most.
  absl::Duration time = absl::InfiniteDuration();        // At most.
};

// Adds the flags that all such verbs have.
void AddPassFlags(CLI::App& command, PassFlags& flags);

exec::EngineOptions EngineOptionsOf(const PassFlags& flags);
exec::PassOptions PassOptionsOf(const PassFlags& flags);

// Runs a pass, or as much of it as the flags say, showing every block to `see`.
absl::StatusOr<profile::PassFacts> RunPass(
    const rewrite::Rewritten& pipeline, const PassFlags& flags,
    absl::FunctionRef<void(const core::Block&)> see = [](const core::Block&) {});

}  // namespace millrace::cli
