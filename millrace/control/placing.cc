#include "millrace/control/placing.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "millrace/api/service.h"

namespace millrace::control {

bool MayRun(const api::WorkerFacts& worker, const api::JobSettings& settings,
            const api::JobFacts& facts, int64_t lane) {
  if (facts.python && !worker.python) return false;
  const bool its_turn = worker.of > 0 && lane % worker.of == worker.index;
  if (settings.sharding == "static" && !its_turn) return false;
  return std::ranges::all_of(settings.tags, [&](const std::string& tag) {
    return std::ranges::find(worker.tags, tag) != worker.tags.end();
  });
}

std::optional<int64_t> ChooseWorker(const std::vector<Candidate>& workers,
                                    const api::JobSettings& settings,
                                    const api::JobFacts& facts, const LaneWish& wish) {
  using Rank = std::tuple<bool, double, int64_t>;  // Less is better.
  std::optional<Rank> best;
  for (const Candidate& worker : workers) {
    const api::WorkerFacts& own = worker.facts;
    const bool local = !wish.host.empty() && own.host == wish.host;
    const bool full = worker.lanes >= own.lanes_max;
    if (worker.draining || wish.avoid.contains(own.worker)) continue;
    if (!MayRun(own, settings, facts, wish.lane) || (full && !wish.now)) continue;
    if (settings.target == "local" && !local) continue;
    if (settings.target == "remote" && local) continue;
    const double load = static_cast<double>(worker.lanes) /
                        static_cast<double>(std::max<int64_t>(1, own.lanes_max));
    const Rank rank{!local || full, load, own.worker};
    if (!best || rank < *best) best = rank;
  }
  if (!best) return std::nullopt;
  return std::get<2>(*best);
}

}  // namespace millrace::control
