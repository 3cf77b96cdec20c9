#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/sample_files.h"
#include "millrace/bench/workload.h"
#include "millrace/core/tensor.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/literal.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/dataset.h"

namespace millrace::bench {
namespace {

constexpr int64_t kRows = 2'000'000;
constexpr int64_t kRowBytes = 100;
constexpr int64_t kWindow = 100'000;

// Rows in memory, shuffled: what the shuffle itself costs.
absl::StatusOr<ir::Pipeline> InMemory() {
  std::vector<uint8_t> bytes(kRows * kRowBytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i >> 5);
  const ir::Attachment array =
      ir::EncodeTensor(core::Tensor::FromValues<uint8_t>(bytes, {kRows, kRowBytes}));
  return FromArrays({.names = {"x"}, .arrays = {array}})
      .Shuffle({.window = kWindow})
      .Batch({.size = 1024})
      .pipeline();
}

absl::StatusOr<Line> RunInMemory(const BenchOptions& options) {
  const ir::Pipeline pipeline = TRY(InMemory());
  exec::Engine engine({.threads = options.threads});
  std::vector<double> rates;
  rates.reserve(options.repeats);
  for (int i = 0; i < options.repeats; ++i) {
    rates.push_back(TRY(PassRate(pipeline, engine, kRows)));
  }
  return Line{.name = "shuffle(100000) of 100 B in memory, batch",
              .unit = "rows/s per core",
              .ours = Median(rates) / options.threads,
              .limit = 10e6,
              .limit_is = "10 M rows/s per core",
              .bar = 1.0};
}

absl::StatusOr<Line> RunFromFiles(const BenchOptions& options) {
  std::string paths;
  for (int i = 0; i < options.threads; ++i) {
    const std::string path =
        TRY(MakeTfrecord(options.folder, kRows / options.threads + i, kRowBytes));
    paths += base::StrCat(i == 0 ? "" : ", ", ir::Quote(path));
  }
  const std::string read = base::StrCat("%0 = read_tfrecord(paths=[", paths, "])\n");
  const std::string shuffled = base::StrCat(read, "%1 = shuffle(%0, window=", kWindow,
                                            ")\n%2 = batch(%1, size=1024)");
  const std::string plain = base::StrCat(read, "%1 = batch(%0, size=1024)");
  exec::Engine engine({.threads = options.threads});
  const Medians medians = TRY(Compare(
      options.repeats, [&] { return PassRate(shuffled, engine, kRows); },
      [&] { return PassRate(plain, engine, kRows); }));
  const double threads = options.threads;
  return Line{.name = "the same from TFRecord files",
              .unit = "rows/s per core",
              .ours = medians.ours / threads,
              .limit = medians.limit / threads,
              .limit_is = "the engine without the shuffle",
              .bar = 0.3};
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunShuffle(const BenchOptions& options) {
  return std::vector<Line>{TRY(RunInMemory(options)), TRY(RunFromFiles(options))};
}

}  // namespace millrace::bench
