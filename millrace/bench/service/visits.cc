// What it costs that every row is delivered once, and not at most once.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/bench/line.h"
#include "millrace/bench/service/local_service.h"
#include "millrace/bench/workload.h"
#include "millrace/client/consumer.h"

namespace millrace::bench {
namespace {

constexpr int kRepeatsLeast = 15;  // It is a small difference.

// Batches of 64 KiB that are ready: lanes end often, and little else is to be done.
constexpr char kPipeline[] =
    "millrace 1\n"
    "%0 = range(start=0, stop=32000)\n"
    "%1 = batch(%0, size=1)\n"
    "%2 = map(%1, function={x: ready(.value, bytes=65536)})\n";

// Batches per second of a job that visits rows like this.
absl::StatusOr<double> RateOf(LocalService& service, const std::string& visit,
                              int64_t batches) {
  Reading reading{.pipeline = kPipeline};
  reading.settings.order = "any";
  reading.settings.visit = visit;
  const std::unique_ptr<client::Consumer> consumer = TRY(service.Read(reading));
  TRY(consumer->Next());
  const absl::Duration begin = base::RealClock().Monotonic();
  for (int64_t i = 0; i < batches; ++i) TRY(consumer->Next());
  return static_cast<double>(batches) /
         absl::ToDoubleSeconds(base::RealClock().Monotonic() - begin);
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunServiceVisits(const BenchOptions& options) {
  const std::unique_ptr<LocalService> service = TRY(LocalService::Start({}));
  const int64_t batches = options.quick ? 2'000 : 16'000;
  const Medians medians = TRY(Compare(
      options.quick ? options.repeats : std::max(options.repeats, kRepeatsLeast),
      [&] { return RateOf(*service, "exactly_once", batches); },
      [&] { return RateOf(*service, "at_most_once", batches); }));
  return std::vector<Line>{{.name = "visit exactly_once, order any",
                            .unit = "batches/s of 64 KiB",
                            .ours = medians.ours,
                            .limit = medians.limit,
                            .limit_is = "visit at_most_once",
                            .bar = 0.98}};
}

}  // namespace millrace::bench
