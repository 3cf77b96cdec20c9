// What randomness costs. The one that matters is MakeAndDraw: a random kernel makes a
// generator for every row. It has to stay under 10 ns.

#include "millrace/base/random.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <span>

#include "benchmark/benchmark.h"

#include "millrace/base/hash.h"
#include "millrace/base/permutation.h"

namespace millrace::base {
namespace {

const RandomKey kKey(1, 2, 3);

void MakeAndDraw(benchmark::State& state) {
  uint64_t row = 0;
  for (auto _ : state) {
    Generator generator(kKey, {uint64_t{7} << 48, ++row});
    benchmark::DoNotOptimize(generator.Uniform());
  }
}

BENCHMARK(MakeAndDraw);

// As above, but each row waits for the one before: the latency.
void MakeAndDrawInAChain(benchmark::State& state) {
  uint64_t row = 0;
  for (auto _ : state) row = Generator(kKey, {uint64_t{7} << 48, row}).Next64();
  benchmark::DoNotOptimize(row);
}

BENCHMARK(MakeAndDrawInAChain);

void MakeKey(benchmark::State& state) {
  uint64_t seed = 0;
  for (auto _ : state) benchmark::DoNotOptimize(RandomKey(++seed, 1, 2));
}

BENCHMARK(MakeKey);

template <typename Draw>
void DrawAgain(benchmark::State& state, Draw draw) {
  Generator generator(kKey, {});
  for (auto _ : state) benchmark::DoNotOptimize(draw(generator));
}

BENCHMARK_CAPTURE(DrawAgain, bits, [](Generator& g) { return g.Next64(); });
BENCHMARK_CAPTURE(DrawAgain, uniform, [](Generator& g) { return g.Uniform(); });
BENCHMARK_CAPTURE(DrawAgain, between, [](Generator& g) { return g.Uniform(-1, 1); });
BENCHMARK_CAPTURE(DrawAgain, integer, [](Generator& g) { return g.Integer(0, 1000); });
BENCHMARK_CAPTURE(DrawAgain, normal, [](Generator& g) { return g.Normal(); });
BENCHMARK_CAPTURE(DrawAgain, normal_pair, [](Generator& g) { return g.NormalPair(); });
BENCHMARK_CAPTURE(DrawAgain, split,
                  [](Generator& g) { return g.Split(g.Next64()).Next64(); });

void Shuffle1000(benchmark::State& state) {
  std::array<int, 1000> items = {};
  std::iota(items.begin(), items.end(), 0);
  Generator generator(kKey, {});
  for (auto _ : state) {
    generator.Shuffle(std::span(items));
    benchmark::DoNotOptimize(items.data());
  }
}

BENCHMARK(Shuffle1000);

void CombineIdentities(benchmark::State& state) {
  uint64_t repetition = 0;
  for (auto _ : state) benchmark::DoNotOptimize(Combine(Hash128{1, 2}, ++repetition));
}

BENCHMARK(CombineIdentities);

void PermutationAt(benchmark::State& state) {
  const Permutation permutation(state.range(0), kKey);
  int64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(permutation.At(position));
    if (++position == permutation.size()) position = 0;
  }
}

BENCHMARK(PermutationAt)->Arg(1000)->Arg(1'000'000)->Arg(1'100'000);

}  // namespace
}  // namespace millrace::base
