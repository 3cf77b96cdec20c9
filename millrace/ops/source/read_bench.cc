// What reading rows costs. A whole file is read by a source, on one thread, in turns
// with a plain loop of read(2) and CRC over the same bytes in the same run, both from
// the page cache; "of_loop" is the median of the loop's time divided by the source's.
// The bar is 0.8 for rows of 4 KiB, 64 KiB and 1 MiB.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "benchmark/benchmark.h"

#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

constexpr int64_t kFileBytes = 64 << 20;

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

std::string TfrecordFile(int64_t row_bytes) {
  std::string bytes;
  for (uint64_t row = 0; std::ssize(bytes) < kFileBytes; ++row) {
    bytes += storage::TfrecordRow(storage::Noise(row_bytes, row));
  }
  return bytes;
}

std::string TarFile(int64_t row_bytes) {
  std::string bytes;
  for (uint64_t row = 0; std::ssize(bytes) < kFileBytes; ++row) {
    bytes +=
        storage::TarMember(base::StrCat(row, ".jpg"), storage::Noise(row_bytes, row));
  }
  return bytes + storage::TarEnd();
}

std::string TextFile(int64_t row_bytes) {
  std::string bytes;
  while (std::ssize(bytes) < kFileBytes) bytes += std::string(row_bytes, 'x') + "\n";
  return bytes;
}

// The least that anybody could do.
uint32_t PlainLoop(const std::string& path) {
  static std::vector<char>& room = *new std::vector<char>(256 << 10);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  uint32_t crc = 0;
  while (true) {
    const ssize_t got = read(file, room.data(), room.size());
    CHECK_GE(got, 0);
    if (got == 0) break;
    crc = codec::Crc32c({room.data(), static_cast<size_t>(got)}, crc);
  }
  close(file);
  return crc;
}

int64_t ReadRows(const Source& source) {
  const std::unique_ptr<Reader> reader = *source.Open({0, 0, lanes::kRowsMax});
  int64_t bytes = 0;
  while (true) {
    CHECK(reader->Fetch().ok());
    const std::optional<core::Block> block = *reader->Next(NoBadRows());
    if (!block) return bytes;
    bytes += block->content_bytes();
  }
}

void ReadFile(benchmark::State& state, const std::string& source_text,
              std::string (*make)(int64_t)) {
  const storage::TemporaryFolder folder;
  const std::string path = folder.Write("file", make(state.range(0)));
  core::Pool pool(core::MakeHeapAllocator(), {});
  const ir::Pipeline node =
      *ir::Parse(base::StrCat("%0 = ", source_text, "(paths=[\"", path, "\"]",
                              source_text == "read_tar" ? ", fields=[\"jpg\"])" : ")"),
                 {}, DefaultLibrary().catalog());
  const std::unique_ptr<Source> source =
      DefaultLibrary().MakeSource(node, {.pool = pool});
  CHECK(source->List().ok());
  std::vector<double> ratios;
  std::vector<double> loops;
  for (auto _ : state) {
    loops.push_back(Seconds([&] { benchmark::DoNotOptimize(PlainLoop(path)); }));
    const double seconds =
        Seconds([&] { benchmark::DoNotOptimize(ReadRows(*source)); });
    ratios.push_back(loops.back() / seconds);
    state.SetIterationTime(seconds);
  }
  state.SetBytesProcessed(state.iterations() * kFileBytes);
  state.counters["of_loop"] = Median(ratios);
  state.counters["loop_GBps"] = kFileBytes / Median(loops) / 1e9;
}

void RowBytes(benchmark::internal::Benchmark* bench) {
  bench->UseManualTime()->Unit(benchmark::kMillisecond);
  for (const int64_t bytes : {100, 4 << 10, 64 << 10, 1 << 20}) bench->Arg(bytes);
}

BENCHMARK_CAPTURE(ReadFile, tfrecord, std::string("read_tfrecord"), TfrecordFile)
    ->Apply(RowBytes);
BENCHMARK_CAPTURE(ReadFile, tar, std::string("read_tar"), TarFile)->Apply(RowBytes);
BENCHMARK_CAPTURE(ReadFile, text, std::string("read_text"), TextFile)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Arg(100);

}  // namespace
}  // namespace millrace::ops
