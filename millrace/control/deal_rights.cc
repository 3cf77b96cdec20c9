// The part of the dispatcher that deals rights in order "any" (dispatcher.h).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/api/stream.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/events.h"
#include "millrace/control/rights.h"
#include "millrace/control/shares.h"
#include "millrace/control/state.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"

namespace millrace::control {
namespace {

constexpr int64_t kLanesMax = int64_t{1} << 24;
constexpr int64_t kLanesEachMin = 2;  // That a consumer has to read from.

// Passes of a job that are under way at once. One that is too many is begun once others
// are over: consumers go on telling of it.
constexpr int64_t kPassesMax = 256;

// Lanes that are leased for one beat. Those of which a state left nothing open are many
// and cost an event each; the next beat goes on.
constexpr int64_t kLeasesMax = 1 << 14;

// Rights of a pass, into which consumers can split lanes by what they promise, and of
// which they can have ever more where there is no end of lanes. An honest one splits a
// lane a few times, and finishes what it has.
constexpr int64_t kRightsMax = 1 << 20;

// Checked before memory is taken: it came from elsewhere.
absl::Status CheckFacts(const api::PassFacts& facts) {
  const auto wrong = [&](const auto&... why) {
    return absl::InvalidArgumentError(base::StrCat("pass ", facts.pass, why...));
  };
  if (facts.lanes < api::kEndless || facts.lanes > kLanesMax) {
    return wrong(" has an absurd number of lanes: ", facts.lanes);
  }
  if (facts.batch_rows < 1 || facts.batch_rows > lanes::kRowsMax) {
    return wrong(" has batches of so many rows: ", facts.batch_rows);
  }
  int64_t lanes = 0;
  for (const api::LaneRun& run : facts.rows) {
    const bool fits = run.lanes >= 0 && run.lanes <= facts.lanes - lanes;
    if (!fits || run.rows < 0 || run.rows >= lanes::kRowsMax) {
      return wrong(" has a run of ", run.lanes, " lanes of ", run.rows, " rows");
    }
    lanes += run.lanes;
  }
  if (facts.rows.empty() || lanes == facts.lanes) return absl::OkStatus();
  return wrong(" has ", facts.lanes, " lanes, but rows of ", lanes);
}

// Empty: not known beforehand.
std::vector<int64_t> LaneRowsOf(const api::PassFacts& facts) {
  std::vector<int64_t> rows;
  if (facts.rows.empty()) return rows;
  rows.reserve(facts.lanes);
  for (const api::LaneRun& run : facts.rows)
    rows.insert(rows.end(), run.lanes, run.rows);
  return rows;
}

// Whether memory for one more pass may be taken: of all of them together for as many
// lanes as two may have, this one and the next.
bool HasRoomFor(const JobState& job, const api::PassFacts& facts) {
  if (job.passes.contains(facts.pass)) return true;
  int64_t lanes = 0;
  for (const auto& [number, pass] : job.passes) lanes += pass.facts.lanes;
  return std::ssize(job.passes) < kPassesMax && lanes <= kLanesMax;
}

// How many lanes a consumer can be dealt.
struct Feeding {
  int64_t dealt = 0;  // Batches, so far.
  int64_t room = 0;   // For so many rights.
};

bool IsExact(const api::JobSettings& settings) {
  return settings.visit == "exactly_once";
}

}  // namespace

void Dispatcher::Change(int64_t number, int64_t pass, const PassChange& change) {
  Event event;
  event.pass_changed = {number, state_.Find(number)->incarnation, pass, change};
  Commit(event);
  NewVersion();
}

// --- What consumers say ---

absl::Status Dispatcher::HearPasses(const api::ConsumerBeat& beat) {
  const int64_t number = beat.reader.job;
  const JobState& state = *state_.Find(number);
  for (const api::PassBeat& pass : beat.passes) {
    // One ahead of what it takes from, and no more.
    const bool over = pass.pass < state.passes_over || pass.pass - 1 > beat.pass;
    if (state.settings.order != "any" || over) continue;
    const bool about_it = pass.facts && pass.facts->pass == pass.pass;
    if (about_it && HasRoomFor(state, *pass.facts)) {
      TRY(BeginPass(number, *pass.facts));
    }
    if (!state.passes.contains(pass.pass)) continue;
    TRY(HearPass(beat.reader, pass));
    LeaseLanes(number, pass.pass);
    CountPass(number, pass.pass);
  }
  ForgetPasses(number);
  return absl::OkStatus();
}

absl::Status Dispatcher::BeginPass(int64_t number, const api::PassFacts& facts) {
  TRY(CheckFacts(facts));
  const auto& passes = state_.Find(number)->passes;
  const auto found = passes.find(facts.pass);
  if (found == passes.end()) {
    SoftOf(number).passes[facts.pass] = TRY(ReadPass(number, facts));
    Change(number, facts.pass, {.begun = facts, .late = LateFor(number, facts)});
    return absl::OkStatus();
  }
  if (found->second.facts == facts) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "consumers see another number of lanes, rows or batch size in pass ", facts.pass,
      ": all must read the same pipeline over the same files"));
}

// What of a pass need not survive: it follows from what does.
absl::StatusOr<Dispatcher::Pass> Dispatcher::ReadPass(
    int64_t number, const api::PassFacts& facts) const {
  Pass pass{LaneRowsOf(facts), {}, {}, {}};
  const JobState& state = *state_.Find(number);
  if (state.state.empty()) return pass;
  const lanes::State began = TRY(api::StateFromJson(state.state));
  if (began.pass != facts.pass) return pass;
  const int64_t lanes = facts.lanes == api::kEndless ? began.lanes : facts.lanes;
  pass.taken = TRY(lanes::TakenOf(
      began, facts.rows.empty() ? TRY(lanes::UnknownRows(lanes)) : pass.lane_rows));
  return pass;
}

// An answer to being asked, or the news that something is lost.
void Dispatcher::HearPromises(const api::ReaderHello& reader,
                              const api::PassBeat& beat) {
  const JobState& state = *state_.Find(reader.job);
  const PassRights& rights = state.passes.at(beat.pass);
  const bool lossy = state.settings.visit == "at_most_once" && rights.batches < 0;
  const int64_t least = lossy ? api::kToNobody : api::kToLeftovers;
  for (const api::Promise& promise : beat.promises) {
    const bool to_somebody =
        promise.to >= least && promise.to < state.settings.consumers;
    if (!to_somebody || !MayMove(rights, reader.consumer, promise)) continue;
    // Leftovers are what fills no batch, and are dealt row by row.
    const bool too_large = promise.to == api::kToLeftovers &&
                           promise.end - promise.begin >= rights.facts.batch_rows;
    if (too_large || std::ssize(rights.rights) >= kRightsMax) continue;
    Change(reader.job, beat.pass, {.moved = Move{promise}});
  }
}

absl::Status Dispatcher::HearPass(const api::ReaderHello& reader,
                                  const api::PassBeat& beat) {
  const JobState& state = *state_.Find(reader.job);
  const PassRights& rights = state.passes.at(beat.pass);
  const auto [soft, lost] = SoftOf(reader.job).passes.try_emplace(beat.pass);
  if (lost) soft->second = TRY(ReadPass(reader.job, rights.facts));
  Pass& pass = soft->second;
  HearPromises(reader, beat);
  for (const api::RightPlace& place : beat.finished) {
    if (!MayReach(rights, reader.consumer, place)) continue;
    pass.received.erase(place.number);
    Change(reader.job, beat.pass, {.finished = place});
  }
  for (const api::RightPlace& place : beat.redo) {
    const bool may = state.settings.visit == "at_least_once" && rights.batches < 0;
    if (!may || !MayReach(rights, reader.consumer, place)) continue;
    pass.received.erase(place.number);
    Change(reader.job, beat.pass, {.redone = place});
  }
  bool changed = false;
  for (const api::RightPlace& place : beat.received) {
    if (!MayReach(rights, reader.consumer, place)) continue;
    int64_t& row = pass.received[place.number];
    changed = changed || place.row > row;
    row = std::max(row, place.row);
  }
  const bool was_hungry = pass.hungry.erase(reader.consumer) > 0;
  if (beat.hungry) pass.hungry.insert(reader.consumer);
  // Others may be asked now, or go on.
  if (changed || beat.hungry != was_hungry) NewVersion();
  return absl::OkStatus();
}

// --- What is known ---

bool Dispatcher::IsLeft(int64_t number, const api::LaneAddress& at) const {
  const JobState& state = *state_.Find(number);
  if (state.settings.order != "any") return true;
  const auto pass = state.passes.find(at.pass);
  if (pass == state.passes.end()) return at.pass >= state.passes_over;
  if (IsToBeLeased(pass->second, at.lane)) return true;
  return std::ranges::any_of(pass->second.rights, [&](const OwnedRight& owned) {
    return owned.right.lane == at.lane;
  });
}

// Before which row a right has rows, as far as these can be counted on.
lanes::KnownLane Dispatcher::RowsOf(int64_t number, int64_t pass,
                                    const OwnedRight& owned) const {
  const JobState& state = *state_.Find(number);
  const Job& job = jobs_.at(number);
  const api::Right& right = owned.right;
  const Pass& soft = job.passes.at(pass);
  const auto known = job.known.find({pass, right.lane});
  lanes::KnownLane lane{soft.RowsOf(right.lane), true};
  if (lane.rows == lanes::kRowsMax) {
    lane = known == job.known.end() ? lanes::KnownLane() : known->second.lane;
  }
  lanes::KnownLane all{std::max(lane.rows, right.begin), false};
  if (lane.ended || right.end < lanes::kRowsMax) {
    all = {lane.ended ? std::min(lane.rows, right.end) : right.end, true};
  }
  const bool counted = state.passes.at(pass).batches >= 0;
  if (counted || IsExact(state.settings)) return all;
  // Until all is counted, what is lost with a worker is left out, or comes again.
  const auto received = soft.received.find(right.number);
  const int64_t row = received == soft.received.end() ? right.begin : received->second;
  const bool whole = all.ended && row >= all.rows;
  if (state.settings.visit == "at_most_once") return {row, whole};
  return {all.rows, whole};
}

Shares Dispatcher::SharesOf(int64_t number, int64_t pass) const {
  const JobState& state = *state_.Find(number);
  return CountShares(
      state.passes.at(pass), state.settings.consumers,
      [&](const OwnedRight& owned) { return RowsOf(number, pass, owned); });
}

// --- Dealing ---

// As many as the workers can run at once, together.
int64_t Dispatcher::LanesEach(int64_t consumers) const {
  int64_t lanes = 0;
  for (const auto& [number, worker] : workers_) lanes += worker.facts.lanes_max;
  return std::max(kLanesEachMin, lanes / consumers);
}

// What is left of the next lane to be leased.
Lease Dispatcher::NextLease(const Pass& pass, const LeasedLane& next) {
  Lease lease;
  for (const lanes::LaneRange& range : pass.taken.Open(next.lane)) {
    const int64_t begin = std::max(range.begin, next.rows.begin);
    const int64_t end = std::min({range.end, next.rows.end, pass.RowsOf(next.lane)});
    if (begin < end) lease.ranges.push_back({begin, end});
  }
  return lease;
}

// Lanes go to those that were dealt the fewest batches, of those that have few left;
// the next pass's once all of this one's have.
void Dispatcher::LeaseLanes(int64_t number, int64_t pass) {
  const JobState& state = *state_.Find(number);
  for (const auto& [earlier, rights] : state.passes) {
    if (earlier < pass && !IsLeased(rights)) return;
  }
  const PassRights& rights = state.passes.at(pass);
  if (IsLeased(rights) || std::ssize(rights.rights) >= kRightsMax) return;
  Pass& soft = SoftOf(number).passes.at(pass);
  const int64_t each = LanesEach(state.settings.consumers);
  const Shares shares = SharesOf(number, pass);
  std::vector<Feeding> feeding;
  for (int64_t i = 0; i < state.settings.consumers; ++i) {
    const Share& share = shares.of[i];
    // Rows that fill no batch need more to be joined with.
    const int64_t room = soft.hungry.contains(i) ? each : each - share.open;
    feeding.push_back(
        {HasBatches(share, rights.facts.batch_rows) + share.endless, room});
  }
  soft.hungry.clear();
  const int64_t end = rights.next_lane + kLeasesMax;
  while (!IsLeased(rights) && rights.next_lane < end) {
    const auto least = std::ranges::min_element(feeding, {}, [](const Feeding& one) {
      return std::pair(one.room <= 0, one.dealt);
    });
    if (least->room <= 0) return;
    Lease lease = NextLease(soft, LaneOfLease(rights, rights.next_lane));
    lease.consumer = least - feeding.begin();
    for (const RowRange& range : lease.ranges) {
      const bool known = range.end < lanes::kRowsMax;
      Increase(least->dealt,
               known ? (range.end - range.begin) / rights.facts.batch_rows : 1);
      --least->room;
    }
    Change(number, pass, {.leased = lease});
  }
}

// Once all is known, how many batches there are is settled, and leftovers are dealt.
void Dispatcher::CountPass(int64_t number, int64_t pass) {
  const JobState& state = *state_.Find(number);
  const PassRights& rights = state.passes.at(pass);
  Shares shares = SharesOf(number, pass);
  if (!shares.ended) return;
  if (rights.batches < 0) {
    Change(number, pass, {.counted = CountAll(rights, shares)});
    const int64_t left_out =
        LeftOutRows(rights, shares, state.settings.consumers, state.settings.remainder);
    int64_t all_left_out = SoftOf(number).left_out_rows;
    Increase(all_left_out, left_out);
    LeaveOut(number, all_left_out);
    shares = SharesOf(number, pass);
  }
  const std::vector<Quota> quotas =
      QuotasOf(rights.batches, state.settings.consumers, state.settings.remainder);
  for (const Move& move : DealLeftovers(rights, shares, quotas)) {
    Change(number, pass, {.moved = move});
  }
}

void Dispatcher::ForgetPasses(int64_t number) {
  const JobState& state = *state_.Find(number);
  Job& job = SoftOf(number);
  if (std::ssize(job.consumers) < state.settings.consumers) return;
  const auto slowest = std::ranges::min_element(
      job.consumers, {}, [](const auto& entry) { return entry.second.pass; });
  const int64_t over = slowest->second.pass;
  job.passes.erase(job.passes.begin(), job.passes.lower_bound(over));
  if (state.passes.empty() || state.passes.begin()->first >= over) return;
  Event event;
  event.pass_over = {number, state.incarnation, over - 1};
  Commit(event);
}

void Dispatcher::TellPasses(const api::ConsumerBeat& beat,
                            api::ConsumerNews& news) const {
  const int64_t number = beat.reader.job;
  const JobState& state = *state_.Find(number);
  news.passes_over = state.passes_over;
  for (const api::PassBeat& pass : beat.passes) {
    if (!jobs_.at(number).passes.contains(pass.pass)) continue;
    news.passes.push_back(NewsOfPass(number, pass.pass, beat.reader.consumer));
  }
}

api::PassNews Dispatcher::NewsOfPass(int64_t number, int64_t pass,
                                     int64_t consumer) const {
  const JobState& state = *state_.Find(number);
  const PassRights& rights = state.passes.at(pass);
  const int64_t consumers = state.settings.consumers;
  const Shares shares = SharesOf(number, pass);
  api::PassNews news{.pass = pass};
  for (const OwnedRight& owned : rights.rights) {
    if (owned.consumer == consumer) news.rights.push_back(owned.right);
  }
  news.leased = IsLeased(rights);
  news.horizon = shares.batches / consumers;
  if (rights.batches >= 0) {
    const std::vector<Quota> quotas =
        QuotasOf(rights.batches, consumers, state.settings.remainder);
    news.horizon = quotas[consumer].batches;
    news.fill = quotas[consumer].fill;
    news.final = true;
    news.give_rows = shares.of[consumer].tail_rows % rights.facts.batch_rows;
    news.asks = AskForBatches(rights, shares, quotas)[consumer];
    news.settled = IsServed(rights, shares, quotas);
  } else if (news.leased) {
    const Job& job = jobs_.at(number);
    const std::set<int64_t>& hungry = job.passes.at(pass).hungry;
    const auto asking = job.consumers.find({consumer, 0});
    const int64_t beats = asking == job.consumers.end() ? 0 : asking->second.beats;
    news.asks = AskForLanes(shares, {hungry.begin(), hungry.end()}, beats)[consumer];
  }
  return news;
}

}  // namespace millrace::control
