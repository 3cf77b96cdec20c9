#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/image_pipeline.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/sample_images.h"
#include "millrace/bench/workload.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/machine.h"

namespace millrace::bench {
namespace {

constexpr int64_t kImages = 2048;

struct Point {
  int threads = 1;
  double bar = 0;  // Of linear.
};

// Images per second; each thread has the images once.
absl::StatusOr<double> RateWith(exec::Engine& engine, const SampleTars& tars) {
  const int threads = engine.options().threads;
  const auto images = static_cast<int64_t>(tars.images.size());
  return PassRate(ImagePipeline({.pattern = tars.pattern, .repeats = threads + 1}),
                  engine, images * (threads + 1));
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunScaling(const BenchOptions& options) {
  const SampleTars tars = TRY(MakeSampleTars(options.folder, kImages));
  std::vector<Line> lines;
  for (const Point& point : std::vector<Point>{{2, 0.9}, {8, 0.9}, {16, 0.8}}) {
    if (point.threads > exec::AvailableThreads()) break;
    exec::Engine many(ImageEngine(point.threads));
    exec::Engine one(ImageEngine(1));
    const Medians medians = TRY(Compare(
        options.repeats, [&] { return RateWith(many, tars); },
        [&] { return RateWith(one, tars); }));
    lines.push_back({.name = base::StrCat("JPEG on ", point.threads, " threads"),
                     .unit = "images/s per thread",
                     .ours = medians.ours / point.threads,
                     .limit = medians.limit,
                     .limit_is = "one thread",
                     .bar = point.bar});
  }
  return lines;
}

}  // namespace millrace::bench
