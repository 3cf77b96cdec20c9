// More workers, whose batches take time and no processor: how far they add up.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/service/local_service.h"
#include "millrace/bench/service/orders.h"
#include "millrace/bench/workload.h"
#include "millrace/client/consumer.h"
#include "millrace/core/block.h"

namespace millrace::bench {
namespace {

constexpr int64_t kNapMicroseconds = 20'000;
constexpr int64_t kOpenLanes = 64;

int64_t BatchesOfEach(const BenchOptions& options) { return options.quick ? 64 : 256; }

// How many naps a thread takes in a second.
absl::StatusOr<double> NapRate(int64_t naps) {
  return LoopRate(1, static_cast<double>(naps), [&](int) {
    for (int64_t i = 0; i < naps; ++i) {
      base::RealClock().WaitFor(absl::Microseconds(kNapMicroseconds),
                                std::stop_token());
    }
    return absl::OkStatus();
  });
}

// Batches per second of a whole pass, from the first on.
absl::StatusOr<double> PassRateOf(LocalService& service, const std::string& order,
                                  int64_t batches) {
  Reading reading{
      .pipeline = base::StrCat(
          "millrace 1\n%0 = range(start=0, stop=", batches,
          ")\n%1 = batch(%0, size=1)\n%2 = map(%1, function={x: nap(.value, "
          "microseconds=",
          kNapMicroseconds, ")})\n")};
  reading.settings.order = order;
  if (order == "fixed") reading.settings.open_lanes = kOpenLanes;
  const std::unique_ptr<client::Consumer> consumer =
      TRY(service.Read(std::move(reading)));
  TRY(consumer->Next());
  const absl::Duration begin = base::RealClock().Monotonic();
  int64_t taken = 0;
  while (TRY(consumer->Next()).has_value()) ++taken;
  const absl::Duration time = base::RealClock().Monotonic() - begin;
  if (taken != batches - 1) {
    return absl::DataLossError(base::StrCat(taken + 1, " batches came, of ", batches));
  }
  return static_cast<double>(taken) / absl::ToDoubleSeconds(time);
}

absl::StatusOr<Line> RunFleet(const std::string& order, int workers,
                              const BenchOptions& options) {
  const int64_t batches = BatchesOfEach(options);
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.workers = workers}));
  const Medians medians = TRY(Compare(
      options.repeats, [&] { return PassRateOf(*service, order, batches * workers); },
      [&] { return NapRate(batches / 4); }));
  return Line{.name = base::StrCat(workers, workers == 1 ? " worker" : " workers",
                                   ", order ", order),
              .unit = "batches/s, each 20 ms of sleep",
              .ours = medians.ours,
              .limit = medians.limit * workers,
              .limit_is = "a thread that sleeps, as often as there are workers",
              .bar = 0.95};
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunServiceWorkers(const BenchOptions& options) {
  std::vector<Line> lines;
  for (const std::string& order : Orders()) {
    for (const int workers : {1, 8, 32}) {
      lines.push_back(TRY(RunFleet(order, workers, options)));
    }
  }
  return lines;
}

}  // namespace millrace::bench
