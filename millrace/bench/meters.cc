#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/usage.h"
#include "millrace/bench/workload.h"
#include "millrace/exec/engine.h"

namespace millrace::bench {
namespace {

constexpr int64_t kRows = 50'000'000;
constexpr int kRepeatsLeast = 15;  // It is a small difference.

// Cheap operators over small blocks: where measuring costs most.
constexpr std::string_view kPipeline = R"(
%0 = range(stop=50000000)
%1 = map(%0, function={x: .value * 2 + 1})
%2 = filter(%1, predicate={.x % 3 != 0})
%3 = batch(%2, size=1024)
)";

absl::StatusOr<double> RowsPerCpuSecond(exec::Engine& engine) {
  const double before = CpuSeconds();
  TRY(PassRate(kPipeline, engine, kRows));
  return static_cast<double>(kRows) / (CpuSeconds() - before);
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunMeters(const BenchOptions& options) {
  exec::Engine with({.threads = options.threads});
  exec::Engine without({.threads = options.threads, .meters = false});
  const Medians medians = TRY(Compare(
      std::max(options.repeats, kRepeatsLeast), [&] { return RowsPerCpuSecond(with); },
      [&] { return RowsPerCpuSecond(without); }));
  return std::vector<Line>{
      {.name = "small rows, operators measured",
       .unit = "rows per CPU second",
       .ours = medians.ours,
       .limit = medians.limit,
       .limit_is = "the same, not measured",
       .bar = 0.99},
  };
}

}  // namespace millrace::bench
