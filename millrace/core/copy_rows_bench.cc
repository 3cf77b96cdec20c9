// What block operations cost. Slicing takes the same time however many rows there are.
// Gathering and concatenating rows of 4 KiB and more takes at most 20 % longer than one
// memcpy of as many bytes: the two are measured in turns in the same run, both into
// memory that was touched before, and "ratio" is the median quotient of two neighbours.
#include "millrace/core/copy_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "benchmark/benchmark.h"

#include "millrace/base/clock.h"
#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"

namespace millrace::core {
namespace {

constexpr int64_t kColumns = 4;

base::Generator Random() { return {base::RandomKey(1, 0, 0), base::Hash128{}}; }

Buffer Filled(int64_t bytes, Pool& pool) {
  Buffer buffer = pool.Allocate(bytes).value();
  if (bytes > 0) std::memset(buffer.mutable_data(), 7, bytes);
  return buffer;
}

Buffer EvenOffsets(int64_t count, int64_t step, Pool& pool) {
  Buffer buffer = pool.AllocateFor<int64_t>(count + 1).value();
  for (int64_t i = 0; int64_t& offset : buffer.MutableAs<int64_t>()) {
    offset = step * i++;
  }
  return buffer;
}

// --- Slicing ---

void SliceAtRandom(benchmark::State& state, const Column& column) {
  base::Generator random = Random();
  std::vector<int64_t> begins(1024);
  for (int64_t& begin : begins) begin = random.Integer(0, column.rows() - 100);
  for (size_t i = 0; auto _ : state) {
    benchmark::DoNotOptimize(column.Slice(begins[i++ % begins.size()], 100));
  }
}

void SliceDense(benchmark::State& state) {
  const int64_t rows = state.range(0);
  SliceAtRandom(
      state, Column::Dense(DType::kUint8, rows, {16}, Filled(rows * 16, HeapPool())));
}

void SliceTexts(benchmark::State& state) {
  const int64_t rows = state.range(0);
  SliceAtRandom(state,
                Column::Texts(DType::kBytes, rows, EvenOffsets(rows, 16, HeapPool()),
                              Filled(rows * 16, HeapPool())));
}

void SliceRagged(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const Level level = Level::Variable(EvenOffsets(rows, 4, HeapPool()));
  SliceAtRandom(state, Column::FromLevels(DType::kInt32, rows, {level},
                                          Filled(rows * 16, HeapPool()))
                           .value());
}

BENCHMARK(SliceDense)->RangeMultiplier(10)->Range(1'000, 10'000'000);
BENCHMARK(SliceTexts)->RangeMultiplier(10)->Range(1'000, 10'000'000);
BENCHMARK(SliceRagged)->RangeMultiplier(10)->Range(1'000, 10'000'000);

// --- Copying, beside memcpy ---

enum class Rows : uint8_t { kDense, kTexts };

// Columns that lie one after another in one piece of memory, and all of their rows in
// random order: gathering them moves the bytes that one memcpy would.
struct Sources {
  Buffer memory;
  std::vector<Column> columns;
  std::vector<RowRef> picks;
};

Column ColumnOver(Rows kind, int64_t rows, int64_t row_bytes, Buffer data) {
  if (kind == Rows::kDense) {
    return Column::Dense(DType::kUint8, rows, {row_bytes}, std::move(data));
  }
  return Column::Texts(DType::kBytes, rows, EvenOffsets(rows, row_bytes, HeapPool()),
                       std::move(data));
}

Sources MakeSources(Rows kind, int64_t row_bytes, int64_t bytes, Pool& pool) {
  const int64_t rows = std::max<int64_t>(1, bytes / row_bytes / kColumns);
  const int64_t column_bytes = rows * row_bytes;
  Sources sources = {
      .memory = Filled(kColumns * column_bytes, pool), .columns = {}, .picks = {}};
  for (int32_t source = 0; source < kColumns; ++source) {
    sources.columns.push_back(
        ColumnOver(kind, rows, row_bytes,
                   sources.memory.Slice(source * column_bytes, column_bytes)));
    for (int64_t row = 0; row < rows; ++row) sources.picks.push_back({source, row});
  }
  Random().Shuffle(std::span(sources.picks));
  return sources;
}

template <typename Action>
double Seconds(const Action& action) {
  const absl::Duration start = base::RealClock().Monotonic();
  action();
  return absl::ToDoubleSeconds(base::RealClock().Monotonic() - start);
}

double Median(std::vector<double> values) {
  const int64_t middle = std::ssize(values) / 2;
  std::ranges::nth_element(values, values.begin() + middle);
  return values[middle];
}

// Measures `copy`, which moves all bytes of `from`, in turns with a memcpy of them.
template <typename Copy>
void BesideMemcpy(benchmark::State& state, const Buffer& from, Pool& pool,
                  const Copy& copy) {
  Buffer to = Filled(from.size(), pool);
  copy();  // Its memory is touched, and kept by the pool from here on.
  std::vector<double> memcpy_seconds;
  std::vector<double> ratios;
  for (auto _ : state) {
    memcpy_seconds.push_back(Seconds([&] {
      std::memcpy(to.mutable_data(), from.data(), from.size());
      benchmark::ClobberMemory();
    }));
    const double seconds = Seconds(copy);
    ratios.push_back(seconds / memcpy_seconds.back());
    state.SetIterationTime(seconds);
  }
  state.counters["memcpy_us"] = Median(memcpy_seconds) * 1e6;
  state.counters["ratio"] = Median(ratios);
}

void GatherRows(benchmark::State& state, Rows kind) {
  Pool pool(MakeHeapAllocator(), {});
  const Sources sources = MakeSources(kind, state.range(0), state.range(1), pool);
  BesideMemcpy(state, sources.memory, pool, [&] {
    const Column copy = Gather(sources.columns, sources.picks, pool).value();
    benchmark::DoNotOptimize(copy.values().data());
  });
}

void ConcatenateRows(benchmark::State& state, Rows kind) {
  Pool pool(MakeHeapAllocator(), {});
  const Sources sources = MakeSources(kind, state.range(0), state.range(1), pool);
  BesideMemcpy(state, sources.memory, pool, [&] {
    const Column copy = Concatenate(sources.columns, pool).value();
    benchmark::DoNotOptimize(copy.values().data());
  });
}

// Rows of 4, 16 and 150 KiB; batches that fit into the caches, and that do not.
void RowAndBatchBytes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"row", "batch"})->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (const int64_t batch : {int64_t{1} << 20, int64_t{8} << 20, int64_t{64} << 20}) {
    for (const int64_t row : {4 << 10, 16 << 10, 150 << 10}) bench->Args({row, batch});
  }
}

BENCHMARK_CAPTURE(GatherRows, dense, Rows::kDense)->Apply(RowAndBatchBytes);
BENCHMARK_CAPTURE(GatherRows, texts, Rows::kTexts)->Apply(RowAndBatchBytes);
BENCHMARK_CAPTURE(ConcatenateRows, dense, Rows::kDense)->Apply(RowAndBatchBytes);
BENCHMARK_CAPTURE(ConcatenateRows, texts, Rows::kTexts)->Apply(RowAndBatchBytes);

// --- Small rows: a number or an identity per row, in random order ---

void GatherSmallRows(benchmark::State& state) {
  Pool pool(MakeHeapAllocator(), {});
  const Sources sources = MakeSources(Rows::kDense, state.range(0), 1 << 20, pool);
  for (auto _ : state) {
    benchmark::DoNotOptimize(Gather(sources.columns, sources.picks, pool).value());
  }
  state.SetItemsProcessed(state.iterations() * std::ssize(sources.picks));
}

BENCHMARK(GatherSmallRows)->Arg(1)->Arg(8)->Arg(16)->Arg(64)->Arg(256);

}  // namespace
}  // namespace millrace::core
