#include "millrace/cli/run_pass.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <CLI/CLI.hpp>

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ops/library.h"
#include "millrace/profile/facts.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {

void AddPassFlags(CLI::App& command, PassFlags& flags) {
  command
      .add_option("FILE", flags.file, "A pipeline in text form; - for standard input")
      ->required();
  command.add_option("--off", flags.off,
                     "A rewrite to leave out, or 'all'; may be repeated");
  command
      .add_option("--threads", flags.threads,
                  "That compute; by default as many as this process may use")
      ->check(CLI::Range(1, 4096));
  command
      .add_option("--memory", flags.memory_bytes,
                  "For what is in work or ready, as in 512MB or 2GB; by default a "
                  "quarter of what there is")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command
      .add_option("--cache-memory", flags.cache_bytes,
                  "For what caches keep in memory, besides; as much by default")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::NonNegativeNumber);
  command.add_option("--seed", flags.seed, "Of all that is random; 0 by default");
  command.add_option("--epoch", flags.epoch, "Enters every draw; 0 by default");
  command
      .add_option("--order", flags.order,
                  "logical: rows come in the same order every time; any: each part "
                  "of the data as soon as it is ready")
      ->check(CLI::IsMember({"logical", "any"}));
  command.add_flag("--build-indexes", flags.build_indexes,
                   "Write indexes beside files that have none, while they are read: "
                   "the next pass counts their rows and reads from anywhere, and "
                   "so shuffles them in another order");
}

exec::EngineOptions EngineOptionsOf(const PassFlags& flags) {
  return {.threads = flags.threads,
          .memory_bytes = flags.memory_bytes,
          .cache_bytes = flags.cache_bytes};
}

exec::PassOptions PassOptionsOf(const PassFlags& flags) {
  return {
      .seed = flags.seed,
      .epoch = flags.epoch,
      .order = flags.order == "any" ? exec::Delivery::kAny : exec::Delivery::kLogical,
      .build_indexes = flags.build_indexes};
}

absl::StatusOr<profile::PassFacts> RunPass(
    const rewrite::Rewritten& pipeline, const PassFlags& flags,
    absl::FunctionRef<void(const core::Block&)> see) {
  exec::Engine engine(EngineOptionsOf(flags));
  const std::unique_ptr<exec::Iterator> blocks =
      TRY(engine.Open(pipeline, ops::DefaultLibrary(), PassOptionsOf(flags)));
  const base::Clock& clock = base::RealClock();
  const absl::Duration begin = clock.Monotonic();
  for (int64_t i = 0; i < flags.blocks && clock.Monotonic() - begin < flags.time; ++i) {
    const std::optional<core::Block> block = TRY(blocks->Next());
    if (!block) break;
    see(*block);
  }
  return blocks->Facts();
}

}  // namespace millrace::cli
