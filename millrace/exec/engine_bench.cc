// What the engine makes of small rows: pipelines whose work is next to nothing, so that
// what is measured is the engine.

#include "millrace/exec/engine.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "benchmark/benchmark.h"

#include "millrace/base/check.h"
#include "millrace/core/block.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

void RunPass(benchmark::State& state, std::string_view text, int64_t rows) {
  Engine engine({.threads = static_cast<int>(state.range(0))});
  const rewrite::Rewritten pipeline =
      *rewrite::Rewrite(MustParse(text), ops::DefaultLibrary().catalog(), {});
  for (auto _ : state) {
    const auto iterator = *engine.Open(pipeline, ops::DefaultLibrary(), {});
    while (true) {
      absl::StatusOr<std::optional<core::Block>> block = iterator->Next();
      CHECK(block.ok()) << block.status();
      if (!block->has_value()) break;
    }
  }
  state.SetItemsProcessed(state.iterations() * rows);
}

void BmSmallRows(benchmark::State& state) {
  RunPass(state, R"(
%0 = range(stop=50000000)
%1 = map(%0, function={x: .value * 2 + 1})
%2 = filter(%1, predicate={.x % 3 != 0})
%3 = batch(%2, size=1024)
)",
          50'000'000);
}

BENCHMARK(BmSmallRows)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void BmShuffledNumbers(benchmark::State& state) {
  RunPass(state, R"(
%0 = range(stop=10000000)
%1 = shuffle(%0, window=100000)
%2 = batch(%1, size=1024)
)",
          10'000'000);
}

BENCHMARK(BmShuffledNumbers)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// What it costs to open a lane and to leave it, from its start and from its middle.
void BmOpenLane(benchmark::State& state) {
  Engine engine({.threads = 2});
  const rewrite::Rewritten pipeline =
      *rewrite::Rewrite(MustParse(R"(
%0 = range(stop=50000000)
%1 = map(%0, function={x: .value * 2 + 1})
%2 = shuffle(%1, window=1000)
%3 = batch(%2, size=64)
%4 = map(%3, function={y: .x % 10})
)"),
                        ops::DefaultLibrary().catalog(), {});
  const auto plan = *engine.PlanLanes(pipeline, ops::DefaultLibrary(), {});
  LaneWork work = {.lane = 0, .from_row = state.range(0)};
  for (auto _ : state) {
    const auto run = engine.OpenLane(plan, work);
    CHECK(run.ok()) << run.status();
    work.lane = (work.lane + 1) % 100;
  }
}

BENCHMARK(BmOpenLane)->Arg(0)->Arg(3200)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace millrace::exec
