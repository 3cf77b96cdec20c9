// The part of the simulated cluster that is about fixed order: resuming, and what must
// hold (cluster.h).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/state.h"
#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/positions.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/run_turns.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/tracks.h"
#include "millrace/sim/cluster.h"
#include "millrace/sim/sim_consumer.h"

namespace millrace::sim {
namespace {

int64_t RowsIn(const std::vector<lanes::LaneRange>& ranges) {
  int64_t rows = 0;
  for (const lanes::LaneRange& range : ranges) rows += range.rows();
  return rows;
}

}  // namespace

// Saves where all are at one step, loses all consumers, goes on with others.
void Cluster::ResumeElsewhere() {
  for (const Consumer& consumer : consumers_) {
    const SimConsumer& first = *consumers_[0].process;
    if (!consumer.process->opened() || consumer.process->done()) return;
    if (consumer.process->taken().size() != first.taken().size()) return;
    if (consumer.process->State() != first.State()) return;
  }
  const std::string state = consumers_[0].process->State();
  if (!CheckFixed().ok()) return;
  BeginRun(state);
}

// What is left of a pass according to a state, as everybody reads it; but with the ends
// of lanes, which not everybody knows.
lanes::Rest Cluster::RestOf(const lanes::State& state) const {
  std::vector<int64_t> seen = truth_.lane_rows[state.pass];
  if (!truth_.counted) seen.assign(seen.size(), lanes::kRowsMax);
  const lanes::OrderRecord order{lanes::OrderKind::kFixed, settings_.open_lanes,
                                 truth_.runs.has_value()};
  lanes::Rest rest = lanes::Resume(state, seen, order).value();
  if (truth_.runs) return rest;
  const auto end = [&](std::vector<lanes::LaneRange>& ranges) {
    for (lanes::LaneRange& range : ranges) {
      range.end = truth_.lane_rows[state.pass][range.lane];
    }
    std::erase_if(ranges, [](const lanes::LaneRange& r) { return r.rows() <= 0; });
  };
  for (lanes::Track& track : rest.tracks) {
    end(track.carry);
    end(track.lanes);
  }
  return rest;
}

// What a consumer takes in this run if it takes all, by the plain loop over the tracks.
std::vector<TakenRows> Cluster::Expected(int64_t consumer) const {
  std::vector<TakenRows> expected;
  lanes::State state;
  if (!state_.empty()) state = api::StateFromJson(state_).value();
  for (int64_t pass = state.pass; pass < std::ssize(truth_.lane_rows); ++pass) {
    const lanes::Batching batching{truth_.batch_rows, false};
    const lanes::Rest all =
        lanes::DealAll(truth_.lane_rows[pass], settings_.open_lanes);
    const bool resumed = pass == state.pass && !state_.empty();
    if (truth_.runs) {
      std::ranges::move(ExpectedRuns(pass, resumed ? RestOf(state) : all, consumer),
                        std::back_inserter(expected));
      continue;
    }
    const lanes::TrackOrder whole(all, batching);
    const lanes::TrackOrder order(resumed ? RestOf(state) : all, batching);
    for (TakenRows& taken : settings_.global_batch
                                ? ExpectedSlices(order, whole, consumer)
                                : ExpectedTurns(order, whole, consumer)) {
      taken.pass = pass;
      expected.push_back(std::move(taken));
    }
  }
  return expected;
}

// Of lanes that give runs, with all known of them.
std::vector<TakenRows> Cluster::ExpectedRuns(int64_t pass, const lanes::Rest& rest,
                                             int64_t consumer) const {
  lanes::KnownLanes known;
  for (int64_t lane = 0; lane < std::ssize(truth_.lane_rows[pass]); ++lane) {
    CHECK(known.Learn(lane, truth_.Of({pass, lane})).ok());
  }
  std::vector<TakenRows> expected;
  std::vector<std::vector<lanes::LaneRange>> round;
  lanes::RunTurns turns(rest, truth_.BatchingFor(settings_));
  while (true) {
    const int64_t place = turns.position() % settings_.consumers;
    const lanes::Positions::Step step = turns.Next(known);
    if (step.kind == lanes::Positions::Kind::kEnd) return expected;
    if (place == 0) round.clear();
    if (!step.rows.empty()) round.push_back(Joined(step.rows));
    if (place != consumer) continue;
    if (!step.rows.empty()) {
      expected.push_back({pass, round.back(), RowsIn(round.back())});
    } else if (settings_.remainder == "pad") {
      expected.push_back({pass, round[place % std::ssize(round)], 0});
    }
  }
}

std::vector<TakenRows> Cluster::ExpectedTurns(const lanes::Order& order,
                                              const lanes::Order& whole,
                                              int64_t consumer) const {
  std::vector<TakenRows> expected;
  const int64_t n = settings_.consumers;
  const int64_t positions = order.positions();
  for (int64_t p = consumer; p < positions / n * n; p += n) {
    expected.push_back({0, order.At(p), RowsIn(order.At(p))});
  }
  const int64_t last = positions % n;
  if (last == 0 || settings_.remainder == "drop") return expected;
  if (consumer < last) {
    const std::vector<lanes::LaneRange> rows = order.At(positions - last + consumer);
    expected.push_back({0, rows, RowsIn(rows)});
  } else if (settings_.remainder == "pad") {
    expected.push_back({0, whole.At((consumer - last) % whole.positions()), 0});
  }
  return expected;
}

std::vector<TakenRows> Cluster::ExpectedSlices(const lanes::Order& order,
                                               const lanes::Order& whole,
                                               int64_t consumer) const {
  std::vector<TakenRows> expected;
  for (int64_t p = 0; p < order.positions(); ++p) {
    std::vector<lanes::LaneRange> rows = order.At(p);
    const int64_t valid = RowsIn(rows);
    const bool is_short = valid < truth_.batch_rows;
    const bool drops = settings_.remainder == "drop" && settings_.consumers > 1;
    if (is_short && drops) continue;
    if (is_short && settings_.remainder == "pad") {
      const std::vector<lanes::LaneRange> first = whole.At(0);
      const bool fills = RowsIn(first) == truth_.batch_rows;
      for (const lanes::LaneRange& range :
           Slice(first, 0, fills ? truth_.batch_rows - valid : 0)) {
        rows.push_back(range);
      }
      rows = Repeat(rows, truth_.batch_rows);
    }
    const int64_t begin = consumer * RowsIn(rows) / settings_.consumers;
    const int64_t end = (consumer + 1) * RowsIn(rows) / settings_.consumers;
    expected.push_back({0, Slice(rows, begin, end),
                        std::clamp<int64_t>(valid - begin, 0, end - begin)});
  }
  return expected;
}

absl::Status Cluster::CheckFixed() const {
  for (const Consumer& consumer : consumers_) {
    const std::vector<TakenRows>& taken = consumer.process->taken();
    const std::vector<TakenRows> expected = Expected(consumer.process->open().consumer);
    const bool whole = !consumer.process->done() || taken.size() == expected.size();
    const bool prefix = taken.size() <= expected.size() &&
                        std::equal(taken.begin(), taken.end(), expected.begin());
    if (whole && prefix) continue;
    return absl::InternalError(base::StrCat(
        "consumer ", consumer.process->open().consumer, " took ", taken.size(), " of ",
        expected.size(), " batches, or others than the plain loop gives"));
  }
  return absl::OkStatus();
}

}  // namespace millrace::sim
