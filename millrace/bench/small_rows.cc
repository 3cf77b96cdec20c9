#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/workload.h"
#include "millrace/exec/engine.h"

namespace millrace::bench {
namespace {

constexpr int64_t kRows = 50'000'000;
constexpr int64_t kBatch = 1024;

constexpr char kPipeline[] = R"(
%0 = range(stop=50000000)
%1 = map(%0, function={x: .value * 2 + 1})
%2 = filter(%1, predicate={.x % 3 != 0})
%3 = batch(%2, size=1024)
)";

// The same, as one would write it: every batch is new memory.
absl::Status Loop(int64_t begin, int64_t end) {
  std::vector<int64_t> batch;
  volatile int64_t seen = 0;  // So that the work is done.
  for (int64_t value = begin; value < end; ++value) {
    const int64_t x = value * 2 + 1;
    if (x % 3 == 0) continue;
    batch.push_back(x);
    if (static_cast<int64_t>(batch.size()) < kBatch) continue;
    seen = batch.back();
    batch = {};
    batch.reserve(kBatch);
  }
  static_cast<void>(seen);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunSmallRows(const BenchOptions& options) {
  const double threads = options.threads;
  exec::Engine engine({.threads = options.threads});
  const Medians medians = TRY(Compare(
      options.repeats, [&] { return PassRate(kPipeline, engine, kRows); },
      [&] {
        const int64_t share = kRows / options.threads;
        return LoopRate(options.threads, kRows, [&](int thread) {
          return Loop(share * thread, share * (thread + 1));
        });
      }));
  return std::vector<Line>{
      {.name = "range, map, filter, batch(1024)",
       .unit = "rows/s per core",
       .ours = medians.ours / threads,
       .limit = 100e6,
       .limit_is = "100 M rows/s per core",
       .bar = 1.0},
      {.name = "the same, beside a loop by hand",
       .unit = "rows/s per core",
       .ours = medians.ours / threads,
       .limit = medians.limit / threads,
       .limit_is = "scalar loop that fills batches",
       .bar = 0.3},
  };
}

}  // namespace millrace::bench
