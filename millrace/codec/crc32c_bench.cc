// What a checksum costs, with and without copying what is summed. "by_table" is the way
// of processors without the instruction.
#include "millrace/codec/crc32c.h"

#include <cstddef>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"

namespace millrace::codec {
namespace {

void Sum(benchmark::State& state) {
  const std::string bytes(state.range(0), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void SumByTable(benchmark::State& state) {
  const std::string bytes(state.range(0), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(Crc32cByTable(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void SumAndCopy(benchmark::State& state) {
  const std::string bytes(state.range(0), 'x');
  std::vector<std::byte> to(bytes.size());
  for (auto _ : state) benchmark::DoNotOptimize(CopyWithCrc32c(to.data(), bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(Sum)->Arg(64)->Arg(4 << 10)->Arg(64 << 10)->Arg(1 << 20);
BENCHMARK(SumByTable)->Arg(4 << 10);
BENCHMARK(SumAndCopy)->Arg(64)->Arg(4 << 10)->Arg(64 << 10)->Arg(1 << 20);

}  // namespace
}  // namespace millrace::codec
