// The dispatcher alone: lanes that are placed, run by simulated workers that take no
// time, and written down as they end.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/sample_data.h"
#include "millrace/bench/service/fleet.h"
#include "millrace/bench/usage.h"
#include "millrace/bench/workload.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/metadata/embedded_store.h"

namespace millrace::bench {
namespace {

constexpr int64_t kWorkers = 64;
constexpr int64_t kLanesOfTurn = 2048;
constexpr double kLanesWanted = 20'000;  // Each second.

// A dispatcher that keeps its state on disk, and its fleet.
struct Simulated {
  std::unique_ptr<metadata::EmbeddedStore> store;
  std::unique_ptr<dispatcher::Loop> loop;
  std::unique_ptr<Fleet> fleet;
};

absl::StatusOr<Simulated> Start(const std::string& folder) {
  std::filesystem::remove_all(folder);
  TRY(MakeFolder(folder));
  Simulated simulated;
  simulated.store = TRY(metadata::EmbeddedStore::Open(folder));
  simulated.loop = TRY(dispatcher::Loop::Start(*simulated.store, {}));
  simulated.fleet = TRY(Fleet::Join(*simulated.loop, kWorkers));
  return simulated;
}

absl::Status RunTurns(Fleet& fleet, int64_t turns) {
  for (int64_t i = 0; i < turns; ++i) TRY(fleet.RunLanes(kLanesOfTurn));
  return absl::OkStatus();
}

absl::StatusOr<double> LanesPerSecond(Fleet& fleet, int64_t turns) {
  const absl::Duration begin = base::RealClock().Monotonic();
  TRY(RunTurns(fleet, turns));
  return static_cast<double>(turns * kLanesOfTurn) /
         absl::ToDoubleSeconds(base::RealClock().Monotonic() - begin);
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunServiceLanes(const BenchOptions& options) {
  const Simulated simulated =
      TRY(Start(base::StrCat(options.folder, "/dispatcher-state")));
  const int64_t turns = options.quick ? 4 : 20;
  const double rate = TRY(MedianOf(
      options.repeats, [&] { return LanesPerSecond(*simulated.fleet, turns); }));
  const auto before = static_cast<double>(StatusBytes("VmRSS:"));
  const int64_t lanes = options.quick ? 50'000 : 1'000'000;
  TRY(RunTurns(*simulated.fleet, lanes / kLanesOfTurn));
  return std::vector<Line>{
      {.name = "lanes placed, ended and durable",
       .unit = "lanes/s",
       .ours = rate,
       .limit = kLanesWanted,
       .limit_is = "20,000 lanes/s",
       .bar = 1},
      {.name = base::StrCat("memory after ", lanes / 1000, "k more lanes"),
       .unit = "bytes resident",
       .ours = static_cast<double>(StatusBytes("VmRSS:")),
       .limit = before,
       .limit_is = "memory before them",
       .bar = 1.05,
       .at_most = true}};
}

}  // namespace millrace::bench
