// How many events a second become durable, by how many are drained at once into one
// transaction: each waits for the disk once. The bar of a dispatcher, 20,000 lane
// assignments a second, is met from the group on where items_per_second exceeds it.
// An event has 100 bytes, as an assignment in JSON has. The file stands in the system's
// folder for temporary files: what its disk takes for a sync decides about small
// groups.
#include "millrace/metadata/embedded_store.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"

#include "millrace/base/check.h"
#include "millrace/metadata/folder_test.h"

namespace millrace::metadata {
namespace {

constexpr int64_t kEventBytes = 100;
constexpr int64_t kEventsPerSnapshot = 100'000;

std::vector<std::string> Events(int64_t count) {
  return std::vector<std::string>(count, std::string(kEventBytes, 'x'));
}

void Append(benchmark::State& state) {
  const StoreFolder folder;
  const auto store = EmbeddedStore::Open(folder.path()).value();
  const std::vector<std::string> events = Events(state.range(0));
  const std::string snapshot(64 << 10, 's');
  int64_t since_snapshot = 0;
  for (auto _ : state) {
    CHECK(store->Append(events).ok());
    since_snapshot += state.range(0);
    if (since_snapshot < kEventsPerSnapshot) continue;
    CHECK(store->Snapshot(snapshot).ok());
    since_snapshot = 0;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Load(benchmark::State& state) {
  const StoreFolder folder;
  const auto store = EmbeddedStore::Open(folder.path()).value();
  CHECK(store->Append(Events(state.range(0))).ok());
  for (auto _ : state) benchmark::DoNotOptimize(store->Load().value());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Snapshot(benchmark::State& state) {
  const StoreFolder folder;
  const auto store = EmbeddedStore::Open(folder.path()).value();
  const std::string snapshot(state.range(0), 's');
  for (auto _ : state) CHECK(store->Snapshot(snapshot).ok());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(Append)->ArgName("events")->RangeMultiplier(4)->Range(1, 4096)->UseRealTime();
BENCHMARK(Load)->ArgName("events")->Arg(kEventsPerSnapshot)->UseRealTime();
BENCHMARK(Snapshot)->ArgName("bytes")->Arg(64 << 10)->Arg(4 << 20)->UseRealTime();

}  // namespace
}  // namespace millrace::metadata
