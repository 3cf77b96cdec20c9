// From one pass to the next: how long consumers wait in between.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/service/local_service.h"
#include "millrace/bench/service/orders.h"
#include "millrace/bench/workload.h"
#include "millrace/client/consumer.h"
#include "millrace/core/block.h"

namespace millrace::bench {
namespace {

constexpr int64_t kConsumers = 8;
constexpr absl::Duration kTraining = absl::Milliseconds(20);

// Nobody knows beforehand how many rows a lane has. A batch takes a fifth of a step.
constexpr char kPipeline[] =
    "millrace 1\n"
    "%0 = range(start=0, stop=9000)\n"
    "%1 = filter(%0, predicate={.value % 3 != 0})\n"
    "%2 = batch(%1, size=4)\n"
    "%3 = map(%2, function={x: nap(.value, microseconds=4000)})\n";

// What one consumer saw.
struct Seen {
  std::vector<double> steps;       // Seconds, from batch to batch within passes.
  std::vector<double> boundaries;  // The same, from pass to pass.
};

// A training loop: takes a batch, computes, takes the next.
absl::StatusOr<Seen> Train(LocalService& service, const Reading& reading, int passes) {
  base::Clock& clock = base::RealClock();
  const std::unique_ptr<client::Consumer> consumer =
      TRY(OpenJob(service.address(), reading));
  Seen seen;
  std::optional<absl::Duration> last;
  bool crossed = false;
  for (int ended = 0; ended < passes;) {
    if (!TRY(consumer->Next()).has_value()) {
      ++ended;
      crossed = true;
      continue;
    }
    const absl::Duration now = clock.Monotonic();
    if (last) {
      (crossed ? seen.boundaries : seen.steps)
          .push_back(absl::ToDoubleSeconds(now - *last));
    }
    last = now;
    crossed = false;
    clock.WaitFor(kTraining, std::stop_token());
  }
  return seen;
}

absl::StatusOr<Line> RunOrder(const std::string& order, const BenchOptions& options) {
  const int passes = options.quick ? 2 : 1 + std::max(2, options.repeats);
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.workers = 4}));
  std::vector<std::future<absl::StatusOr<Seen>>> training;
  for (int64_t i = 0; i < kConsumers; ++i) {
    Reading reading{.pipeline = kPipeline, .consumer = i};
    reading.settings.name = "passes";
    reading.settings.consumers = kConsumers;
    reading.settings.remainder = "drop";
    reading.settings.order = order;
    training.push_back(std::async(std::launch::async, [&service, reading, passes] {
      return Train(*service, reading, passes);
    }));
  }
  std::vector<double> steps;
  std::vector<double> boundaries(static_cast<size_t>(passes - 1));
  for (auto& consumer : training) {
    const Seen seen = TRY(consumer.get());
    steps.insert(steps.end(), seen.steps.begin(), seen.steps.end());
    for (size_t i = 0; i < boundaries.size(); ++i) {
      boundaries[i] = std::max(boundaries[i], seen.boundaries.at(i));
    }
  }
  return Line{.name = base::StrCat("between passes, order ", order),
              .unit = "seconds; the slowest of 8 consumers",
              .ours = Median(boundaries),
              .limit = Median(steps),
              .limit_is = "the median step within a pass",
              .bar = 2,
              .at_most = true};
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunServicePasses(const BenchOptions& options) {
  std::vector<Line> lines;
  for (const std::string& order : Orders()) {
    lines.push_back(TRY(RunOrder(order, options)));
  }
  return lines;
}

}  // namespace millrace::bench
