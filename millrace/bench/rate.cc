#include "millrace/bench/rate.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::bench {

exec::EngineOptions ImageEngine(int threads) {
  return {.threads = threads, .memory_bytes = (int64_t{512} << 20) * threads};
}

absl::StatusOr<double> PassRate(std::string_view pipeline, exec::Engine& engine,
                                int64_t rows) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  return PassRate(TRY(ir::Parse(pipeline, {}, catalog)), engine, rows);
}

absl::StatusOr<double> PassRate(const ir::Pipeline& pipeline, exec::Engine& engine,
                                int64_t rows) {
  const rewrite::Rewritten rewritten =
      TRY(rewrite::Rewrite(pipeline, ops::DefaultLibrary().catalog()));
  const base::Clock& clock = base::RealClock();
  const absl::Duration begin = clock.Monotonic();
  const std::unique_ptr<exec::Iterator> blocks =
      TRY(engine.Open(rewritten, ops::DefaultLibrary(), {}));
  while (TRY(blocks->Next()).has_value()) {
  }
  return static_cast<double>(rows) / absl::ToDoubleSeconds(clock.Monotonic() - begin);
}

absl::StatusOr<double> LoopRate(int threads, double amount,
                                absl::FunctionRef<absl::Status(int thread)> loop) {
  std::vector<absl::Status> statuses(threads);
  const base::Clock& clock = base::RealClock();
  const absl::Duration begin = clock.Monotonic();
  {
    std::vector<std::jthread> running;
    running.reserve(threads);
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&statuses, loop, i] { statuses[i] = loop(i); });
    }
  }
  const absl::Duration taken = clock.Monotonic() - begin;
  for (const absl::Status& status : statuses) TRY(status);
  return amount / absl::ToDoubleSeconds(taken);
}

}  // namespace millrace::bench
