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
#include "millrace/exec/engine.h"
#include "millrace/ir/literal.h"

namespace millrace::bench {
namespace {

constexpr int64_t kRows = 2'000'000;
constexpr int64_t kRowBytes = 100;

}  // namespace

absl::StatusOr<std::vector<Line>> RunShuffle(const BenchOptions& options) {
  std::string paths;
  for (int i = 0; i < options.threads; ++i) {
    const std::string path =
        TRY(MakeTfrecord(options.folder, kRows / options.threads + i, kRowBytes));
    paths += base::StrCat(i == 0 ? "" : ", ", ir::Quote(path));
  }
  const std::string read = base::StrCat("%0 = read_tfrecord(paths=[", paths, "])\n");
  const std::string shuffled =
      base::StrCat(read, "%1 = shuffle(%0, window=100000)\n%2 = batch(%1, size=1024)");
  const std::string plain = base::StrCat(read, "%1 = batch(%0, size=1024)");
  exec::Engine engine({.threads = options.threads});
  const Medians medians = TRY(Compare(
      options.repeats, [&] { return PassRate(shuffled, engine, kRows); },
      [&] { return PassRate(plain, engine, kRows); }));
  const double threads = options.threads;
  return std::vector<Line>{
      {.name = "shuffle(100000) of 100 B, batch",
       .unit = "rows/s per core",
       .ours = medians.ours / threads,
       .limit = 10e6,
       .limit_is = "10 M rows/s per core, reading included",
       .bar = 1.0},
      {.name = "the same, beside not shuffling",
       .unit = "rows/s per core",
       .ours = medians.ours / threads,
       .limit = medians.limit / threads,
       .limit_is = "the engine without the shuffle",
       .bar = 0.3},
  };
}

}  // namespace millrace::bench
