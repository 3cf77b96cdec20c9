#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/sample_files.h"
#include "millrace/bench/usage.h"
#include "millrace/bench/workload.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/literal.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::bench {
namespace {

constexpr int64_t kBudget = int64_t{256} << 20;

// Takes nothing for a while, then a batch now and then, then all the rest.
absl::Status ConsumeSlowly(exec::Iterator& batches) {
  base::Clock& clock = base::RealClock();
  for (int i = 0; i < 4; ++i) {
    clock.WaitFor(absl::Milliseconds(500), std::stop_token());
    if (!TRY(batches.Next()).has_value()) return absl::OkStatus();
  }
  while (TRY(batches.Next()).has_value()) {
  }
  return absl::OkStatus();
}

void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace

absl::StatusOr<std::vector<Line>> RunMemory(const BenchOptions& options) {
  const std::string path = TRY(MakeTfrecord(options.folder, 1500, 1 << 20));
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const std::string text = base::StrCat("%0 = read_tfrecord(paths=[", ir::Quote(path),
                                        "])\n%1 = batch(%0, size=8)");
  const rewrite::Rewritten pipeline =
      TRY(rewrite::Rewrite(TRY(ir::Parse(text, {}, catalog)), catalog));
  ResetPeak();
  const int64_t before = StatusBytes("VmRSS:");
  exec::Engine engine({.threads = options.threads, .memory_bytes = kBudget});
  const std::unique_ptr<exec::Iterator> batches =
      TRY(engine.Open(pipeline, ops::DefaultLibrary(), {}));
  TRY(ConsumeSlowly(*batches));
  return std::vector<Line>{
      {.name = "memory of the process, 1 MiB rows, slow consumer",
       .unit = "bytes at most",
       .ours = static_cast<double>(StatusBytes("VmHWM:") - before),
       .limit = static_cast<double>(kBudget),
       .limit_is = "the budget of 256 MiB",
       .bar = 1.1,
       .at_most = true},
      {.name = "the same, as the engine counts it",
       .unit = "bytes at most",
       .ours = static_cast<double>(engine.memory().peak_bytes),
       .limit = static_cast<double>(kBudget),
       .limit_is = "the budget of 256 MiB",
       .bar = 1.1,
       .at_most = true},
  };
}

}  // namespace millrace::bench
