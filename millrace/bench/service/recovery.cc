// One of four workers, each a process of its own, is killed as a power cut would: how
// long the stream stands still, and whether all rows still come once.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/service/local_service.h"
#include "millrace/bench/service/orders.h"
#include "millrace/bench/service/worker_processes.h"
#include "millrace/bench/workload.h"
#include "millrace/client/consumer.h"
#include "millrace/control/dispatcher.h"
#include "millrace/core/block.h"

namespace millrace::bench {
namespace {

constexpr int kWorkers = 4;
constexpr int64_t kNapMicroseconds = 10'000;
constexpr int64_t kLaneBatches = 2;

// What a run after a kill came to.
struct Outcome {
  double gap = 0;    // Seconds, the longest between two batches after the kill.
  int64_t once = 0;  // Rows that came once.
};

// Reads a pass; a worker is killed after a quarter of it.
absl::StatusOr<Outcome> ReadThroughKill(client::Consumer& consumer,
                                        WorkerProcesses& workers, int64_t rows) {
  const base::Clock& clock = base::RealClock();
  std::vector<int> seen(static_cast<size_t>(rows));
  Outcome outcome;
  absl::Duration last;
  for (int64_t taken = 0;; ++taken) {
    const std::optional<core::Block> batch = TRY(consumer.Next());
    const absl::Duration now = clock.Monotonic();
    if (!batch) break;
    for (const int64_t row : batch->Find("x")->As<int64_t>()) {
      ++seen.at(static_cast<size_t>(row));
    }
    if (taken > rows / 4) {
      outcome.gap = std::max(outcome.gap, absl::ToDoubleSeconds(now - last));
    } else if (taken == rows / 4) {
      workers.front()->Kill();
    }
    last = now;
  }
  outcome.once = std::ranges::count(seen, 1);
  return outcome;
}

absl::StatusOr<Outcome> RunOnce(const std::string& order, int64_t rows) {
  WorkerProcesses workers =
      TRY(StartWorkerProcesses(kWorkers));  // Before there are threads.
  const std::unique_ptr<LocalService> service =
      TRY(LocalService::Start({.workers = 0}));
  TRY(Join(workers, service->address().port));
  Reading reading{
      .pipeline = base::StrCat("millrace 1\n%0 = range(start=0, stop=", rows,
                               ")\n%1 = batch(%0, size=1)\n%2 = map(%1, function={x: "
                               "nap(.value, microseconds=",
                               kNapMicroseconds, ")})\n")};
  reading.settings.order = order;
  const std::unique_ptr<client::Consumer> consumer = TRY(service->Read(reading));
  return ReadThroughKill(*consumer, workers, rows);
}

// In fixed order the stream waits for the lost lanes; in any order it goes on.
double GapLimit(const std::string& order) {
  const absl::Duration heartbeat = control::DispatcherOptions().heartbeat;
  if (order == "any") return absl::ToDoubleSeconds(heartbeat / 4);
  return absl::ToDoubleSeconds(3 * heartbeat +
                               absl::Microseconds(kNapMicroseconds) * kLaneBatches);
}

absl::StatusOr<std::vector<Line>> RunOrder(const std::string& order,
                                           const BenchOptions& options) {
  const int64_t rows = options.quick ? 800 : 2000;
  std::vector<double> gaps;
  int64_t once = 0;
  for (int i = 0; i < options.repeats; ++i) {
    const Outcome outcome = TRY(RunOnce(order, rows));
    gaps.push_back(outcome.gap);
    once += outcome.once;
  }
  return std::vector<Line>{
      {.name = base::StrCat("gap after kill -9, order ", order),
       .unit = "seconds, the longest of all runs",
       .ours = *std::ranges::max_element(gaps),
       .limit = GapLimit(order),
       .limit_is = order == "any" ? "a quarter of a heartbeat: it does not stop"
                                  : "3 heartbeats and a lane's redoing",
       .bar = 1,
       .at_most = true},
      {.name = base::StrCat("rows that came once, order ", order),
       .unit = "rows of all runs",
       .ours = static_cast<double>(once),
       .limit = static_cast<double>(rows * options.repeats),
       .limit_is = "all",
       .bar = 1}};
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunServiceRecovery(const BenchOptions& options) {
  std::vector<Line> lines;
  for (const std::string& order : Orders()) {
    for (Line& line : TRY(RunOrder(order, options))) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace millrace::bench
