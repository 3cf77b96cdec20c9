// How fast something goes: a pass in the engine, or a loop on as many threads.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/exec/engine.h"
#include "millrace/ir/pipeline.h"

namespace millrace::bench {

// An engine for batches of images: with memory for some of them for each thread.
exec::EngineOptions ImageEngine(int threads);

// Runs a whole pass of a pipeline, rewritten, in an engine that may have run before.
// Gives source rows per second: `rows` is how many there are.
absl::StatusOr<double> PassRate(std::string_view pipeline, exec::Engine& engine,
                                int64_t rows);

absl::StatusOr<double> PassRate(const ir::Pipeline& pipeline, exec::Engine& engine,
                                int64_t rows);

// Runs `loop(thread)` on so many threads at once. Gives `amount` per second until the
// last has ended; the first error where there is one.
absl::StatusOr<double> LoopRate(int threads, double amount,
                                absl::FunctionRef<absl::Status(int thread)> loop);

}  // namespace millrace::bench
