#include "millrace/control/placing.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "millrace/api/service.h"
#include "millrace/base/bytes.h"
#include "millrace/base/text.h"
#include "millrace/control/packages.h"
#include "millrace/lanes/tracks.h"

namespace millrace::control {

int64_t LanesToHold(const api::JobSettings& settings, const api::JobFacts& facts) {
  if (settings.order == "any") return 1;
  return lanes::TrackCount(
             {settings.consumers, settings.open_lanes, base::Bytes(facts.lane_bytes)})
      .value_or(1);
}

int64_t LanesThatFit(const api::WorkerFacts& worker, const api::JobFacts& facts) {
  const bool known = worker.memory_bytes > 0 && facts.lane_bytes > 0;
  return known ? worker.memory_bytes / facts.lane_bytes
               : std::numeric_limits<int64_t>::max();
}

bool MayRun(const api::WorkerFacts& worker, const api::JobSettings& settings,
            const api::JobFacts& facts, int64_t lane) {
  if (facts.python && !worker.python) return false;
  if (LanesThatFit(worker, facts) < LanesToHold(settings, facts)) return false;
  const bool its_turn = worker.of > 0 && lane % worker.of == worker.index;
  if (settings.sharding == "static" && !its_turn) return false;
  return std::ranges::all_of(settings.tags, [&](const std::string& tag) {
    return std::ranges::find(worker.tags, tag) != worker.tags.end();
  });
}

api::JobSettings ForListing(api::JobSettings settings) {
  settings.target = "any";
  settings.sharding = "dynamic";
  return settings;
}

std::string WantedWorker(const api::JobSettings& settings, const api::JobFacts& facts) {
  std::string wanted = "a worker";
  for (const std::string& tag : settings.tags) {
    wanted += base::StrCat(wanted == "a worker" ? " with the tag " : " and ", tag);
  }
  if (settings.sharding == "static") wanted += " of the lane's index";
  if (facts.python) wanted += " that may run Python functions";
  if (facts.lane_bytes > 0) {
    const int64_t lanes = LanesToHold(settings, facts);
    wanted += base::StrCat(
        " with ", base::ToString(lanes * base::Bytes(facts.lane_bytes)), " of memory");
  }
  if (settings.target == "local") wanted += " on its consumer's host";
  if (settings.target == "remote") wanted += " on another host than its consumer's";
  return wanted;
}

std::optional<int64_t> ChooseWorker(const std::vector<Candidate>& workers,
                                    const api::JobSettings& settings,
                                    const api::JobFacts& facts, const LaneWish& wish) {
  using Rank = std::tuple<bool, bool, bool, double, bool, int64_t>;  // Less is better.
  std::optional<Rank> best;
  for (const Candidate& worker : workers) {
    const api::WorkerFacts& own = worker.facts;
    const bool local = !own.host.empty() && wish.hosts.contains(own.host);
    const bool waited = !own.host.empty() && own.host == wish.host;
    const bool shared = wish.shared == own.worker;
    const bool full = worker.lanes >= own.lanes_max && !shared;
    if (worker.draining || wish.avoid.contains(own.worker)) continue;
    if (!MayRunFunctions(worker, settings)) continue;
    if (!MayRun(own, settings, facts, wish.lane) || (full && !wish.now)) continue;
    if (settings.target == "local" && !local) continue;
    if (settings.target == "remote" && local) continue;
    const double load = static_cast<double>(worker.lanes) /
                        static_cast<double>(std::max<int64_t>(1, own.lanes_max));
    const Rank rank{worker.slow, !shared, !waited || full, load, !local, own.worker};
    if (!best || rank < *best) best = rank;
  }
  if (!best) return std::nullopt;
  return std::get<5>(*best);
}

}  // namespace millrace::control
