// The state of a large job: its size, what saving takes, and how soon a job that goes
// on from one is under way.

#include <algorithm>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/api/state.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/service/local_service.h"
#include "millrace/bench/service/orders.h"
#include "millrace/bench/workload.h"
#include "millrace/client/consumer.h"
#include "millrace/core/block.h"
#include "millrace/lanes/state.h"

namespace millrace::bench {
namespace {

constexpr int64_t kConsumers = 64;
constexpr int64_t kStateBytesMax = 64 << 10;
constexpr absl::Duration kSaveWithin = absl::Milliseconds(5);
constexpr int kOpenings = 5;  // For each repeat: they are short, and few of them vary.

// Lanes of 65,536 rows: 10,000 of them.
constexpr char kManyLanes[] =
    "millrace 1\n"
    "%0 = range(start=0, stop=655360000)\n"
    "%1 = batch(%0, size=2048)\n";

// Batches that take 20 ms each; how many rows there are is known before.
constexpr char kCostly[] =
    "millrace 1\n"
    "%0 = range(start=0, stop=4000)\n"
    "%1 = batch(%0, size=4)\n"
    "%2 = map(%1, function={x: nap(.value, microseconds=20000)})\n";

struct Saved {
  double bytes = 0;
  double seconds = 0;
};

// Reads some batches as one of many consumers, then saves.
absl::StatusOr<Saved> ReadAndSave(LocalService& service, Reading reading,
                                  const BenchOptions& options) {
  const std::unique_ptr<client::Consumer> consumer =
      TRY(OpenJob(service.address(), reading));
  for (int i = 0; i < 40; ++i) TRY(consumer->Next());
  Saved saved;
  const auto save = [&]() -> absl::StatusOr<double> {
    const absl::Duration begin = base::RealClock().Monotonic();
    saved.bytes = static_cast<double>(api::StateToJson(consumer->state()).size());
    return absl::ToDoubleSeconds(base::RealClock().Monotonic() - begin);
  };
  saved.seconds = TRY(MedianOf(options.repeats, save));
  return saved;
}

absl::StatusOr<Saved> SaveTogether(const std::string& order,
                                   const BenchOptions& options) {
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.workers = 2}));
  std::vector<std::future<absl::StatusOr<Saved>>> reading;
  for (int64_t i = 0; i < kConsumers; ++i) {
    Reading one{.pipeline = kManyLanes, .consumer = i};
    one.settings.name = "large";
    one.settings.consumers = kConsumers;
    one.settings.remainder = "drop";
    one.settings.order = order;
    reading.push_back(std::async(std::launch::async, [&service, &options, one] {
      return ReadAndSave(*service, one, options);
    }));
  }
  Saved most;
  std::vector<double> seconds;
  for (auto& one : reading) {
    const Saved saved = TRY(one.get());
    most.bytes = std::max(most.bytes, saved.bytes);
    seconds.push_back(saved.seconds);
  }
  most.seconds = Median(std::move(seconds));
  return most;
}

// Seconds from opening a job to its first batch.
absl::StatusOr<double> FirstBatch(LocalService& service, const std::string& order,
                                  const std::optional<lanes::State>& state) {
  Reading reading{.pipeline = kCostly, .state = state};
  reading.settings.order = order;
  const absl::Duration begin = base::RealClock().Monotonic();
  const std::unique_ptr<client::Consumer> consumer = TRY(service.Read(reading));
  TRY(consumer->Next());
  const absl::Duration took = base::RealClock().Monotonic() - begin;
  consumer->Leave();  // Else its lanes would run on beside the next one's.
  return absl::ToDoubleSeconds(took);
}

absl::StatusOr<lanes::State> StateInside(LocalService& service,
                                         const std::string& order) {
  Reading reading{.pipeline = kCostly};
  reading.settings.order = order;
  const std::unique_ptr<client::Consumer> consumer = TRY(service.Read(reading));
  for (int i = 0; i < 41; ++i) TRY(consumer->Next());
  lanes::State state = consumer->state();
  consumer->Leave();
  return state;
}

absl::StatusOr<Line> RunResume(const std::string& order, const BenchOptions& options) {
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.workers = 4}));
  const lanes::State state = TRY(StateInside(*service, order));
  const Medians medians = TRY(Compare(
      options.repeats * kOpenings, [&] { return FirstBatch(*service, order, state); },
      [&] { return FirstBatch(*service, order, std::nullopt); }));
  return Line{.name = base::StrCat("first batch after a resume, order ", order),
              .unit = "seconds",
              .ours = medians.ours,
              .limit = medians.limit,
              .limit_is = "first batch of a cold start",
              .bar = 2,
              .at_most = true};
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunServiceStates(const BenchOptions& options) {
  std::vector<Line> lines;
  for (const std::string& order : Orders()) {
    const Saved saved = TRY(SaveTogether(order, options));
    lines.push_back({.name = base::StrCat("state of 10k lanes, order ", order),
                     .unit = "bytes, the largest of 64 consumers",
                     .ours = saved.bytes,
                     .limit = kStateBytesMax,
                     .limit_is = "64 KiB",
                     .bar = 1,
                     .at_most = true});
    lines.push_back({.name = base::StrCat("saving it, order ", order),
                     .unit = "seconds",
                     .ours = saved.seconds,
                     .limit = absl::ToDoubleSeconds(kSaveWithin),
                     .limit_is = "5 ms",
                     .bar = 1,
                     .at_most = true});
    lines.push_back(TRY(RunResume(order, options)));
  }
  return lines;
}

}  // namespace millrace::bench
