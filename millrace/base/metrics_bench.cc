// What metrics cost on the hot path. An increment has to stay under 2 ns on one thread,
// and must not get slower when other threads count, too.

#include "millrace/base/metrics.h"

#include <cstdint>
#include <string>

#include "benchmark/benchmark.h"

namespace millrace::base {
namespace {

Counter& BenchCounter() {
  return ProcessMetrics().AddCounter({"bench_counter", "For the benchmark.", {}});
}

void CountOne(benchmark::State& state) {
  Counter& counter = BenchCounter();
  for (auto _ : state) counter.Add();
}

BENCHMARK(CountOne)->ThreadRange(1, 4);

void RecordOne(benchmark::State& state) {
  Histogram& histogram =
      ProcessMetrics().AddHistogram({"bench_sizes", "For the benchmark.", {}});
  int64_t value = 0;
  for (auto _ : state) histogram.Record(value += 997);
}

BENCHMARK(RecordOne)->ThreadRange(1, 4);

void SetGauge(benchmark::State& state) {
  Gauge& gauge = ProcessMetrics().AddGauge({"bench_level", "For the benchmark.", {}});
  double value = 0;
  for (auto _ : state) gauge.Set(value += 1);
}

BENCHMARK(SetGauge);

void Snapshot(benchmark::State& state) {
  MetricRegistry registry;
  for (int64_t i = 0; i < state.range(0); ++i) {
    registry.AddCounter({"rows", "Rows.", {{"node", std::to_string(i)}}}).Add();
    registry.AddHistogram({"nanos", "Time.", {{"node", std::to_string(i)}}}).Record(i);
  }
  for (auto _ : state) benchmark::DoNotOptimize(registry.Snapshot());
}

BENCHMARK(Snapshot)->Arg(10)->Arg(100);

}  // namespace
}  // namespace millrace::base
