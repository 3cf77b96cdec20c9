#include "millrace/delivery/windows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/text.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {
namespace {

// Productions of which only counts are left, and jobs whose visits are remembered.
constexpr int64_t kIdleMax = 4096;
constexpr size_t kVisitsMax = 4096;

// Blocks that begin before a row and may still have it: they overlap where they were
// made for batches of several sizes.
constexpr int kOverlapMax = 8;

}  // namespace

// --- Jobs ---

void Windows::SetJobs(const std::vector<api::WorkerJob>& jobs) {
  std::set<int64_t> told;
  for (const api::WorkerJob& job : jobs) {
    if (job.manifest.empty()) continue;  // It is only to be listed.
    told.insert(job.job);
    jobs_[job.job] = {job.incarnation,
                      job.share.empty() ? base::Sha256() : base::Sha256Of(job.share),
                      job.sharers,
                      job.joins,
                      job.grid,
                      job.skips,
                      absl::Milliseconds(job.hold_ms)};
    api::JobVisits& visits = visits_[job.job];
    if (visits.incarnation == job.incarnation) continue;
    visits = {.job = job.job, .incarnation = job.incarnation};
  }
  while (visits_.size() > std::max(kVisitsMax, told.size())) {
    visits_.erase(visits_.begin());
  }
  for (const auto& [id, reader] : readers_) told.insert(reader.start.lane.job);
  std::erase_if(jobs_, [&](const auto& job) { return !told.contains(job.first); });
  std::vector<RunId> joining;
  for (const auto& [id, reader] : readers_) {
    if (!reader.key) joining.push_back(id);
  }
  for (const RunId id : joining) Join(id);
  std::vector<Key> keys;
  for (const auto& [key, production] : productions_) {
    if (!production.window.empty()) keys.push_back(key);
  }
  for (const Key& key : keys) {
    const auto found = productions_.find(key);
    if (found == productions_.end()) continue;
    ForgetHad(key, found->second);
    Settle(key);
  }
}

const Windows::Job& Windows::JobOf(const Reader& reader) const {
  return jobs_.at(reader.start.lane.job);
}

std::optional<Windows::Key> Windows::KeyOf(const StartRun& start) const {
  const JobLane& lane = start.lane;
  const auto job = jobs_.find(lane.job);
  if (job == jobs_.end() || job->second.incarnation != lane.incarnation) {
    return std::nullopt;
  }
  const auto& [pass, number, right] = lane.at;
  const int64_t grid = job->second.grid;
  const int64_t phase = grid > 0 ? start.from % grid : 0;
  if (job->second.share == base::Sha256()) {
    const std::string own =
        base::StrCat("job ", lane.job, ", ", lane.incarnation, ", ", right);
    return Key{base::Sha256Of(own), pass, number, phase};
  }
  return Key{job->second.share, pass, number, phase};
}

// How many jobs are to have what is kept. Of those that nobody knows any more, none.
int64_t Windows::SharersOf(const Key& key) const {
  int64_t sharers = 0;
  for (const auto& [number, job] : jobs_) {
    if (job.share == key.share) sharers = std::max(sharers, job.sharers);
  }
  return sharers;
}

std::vector<api::JobVisits> Windows::Visits() const {
  std::map<int64_t, api::JobVisits> visits;
  for (const auto& [number, job] : jobs_) {
    const auto found = visits_.find(number);
    if (job.share == base::Sha256() || found == visits_.end()) continue;
    visits[number] = found->second;
    const auto bytes = bytes_of_.find(job.share);
    if (bytes != bytes_of_.end()) visits[number].window_bytes = bytes->second;
  }
  for (const auto& [key, production] : productions_) {
    int64_t front = 0;
    for (const RunId id : production.readers) {
      front = std::max(front, readers_.at(id).at);
    }
    for (const RunId id : production.readers) {
      const auto found = visits.find(readers_.at(id).start.lane.job);
      if (found != visits.end()) found->second.lag += front - readers_.at(id).at;
    }
  }
  std::vector<api::JobVisits> all;
  all.reserve(visits.size());
  for (const auto& [number, one] : visits) all.push_back(one);
  return all;
}

// --- What the lane server asks for ---

void Windows::Start(const StartRun& start) {
  readers_[start.run] = {.start = start, .next = start.from, .at = start.from};
  Join(start.run);
}

void Windows::Join(RunId id) {
  Reader& reader = readers_.at(id);
  reader.key = KeyOf(reader.start);
  if (!reader.key) return;
  productions_[*reader.key].readers.insert(id);
  if (reader.pulled) Pull(id, reader.needed);
}

void Windows::Pull(RunId run, bool needed) {
  const auto found = readers_.find(run);
  if (found == readers_.end()) return;
  found->second.pulled = true;
  found->second.needed = needed;
  if (!found->second.key) return;
  const Key key = *found->second.key;
  Serve(run);
  Settle(key);
}

void Windows::Hurry(RunId run) {
  const auto found = readers_.find(run);
  if (found == readers_.end() || !found->second.pulled) return;
  Pull(run, /*needed=*/true);
}

void Windows::Stop(RunId run) {
  const auto found = readers_.find(run);
  if (found == readers_.end()) return;
  const std::optional<Key> key = found->second.key;
  Leave(run);
  if (!key) return;
  ForgetHad(*key, productions_.at(*key));
  Settle(*key);
}

void Windows::Leave(RunId id) {
  const auto found = readers_.find(id);
  const Reader& reader = found->second;
  for (const BlockPart& part : reader.parts) Release(part.token);
  if (reader.key) productions_.at(*reader.key).readers.erase(id);
  held_.erase(id);
  readers_.erase(found);
}

void Windows::Drop(Token token) { Release(token); }

// --- What the engine tells ---

void Windows::OnMade(RunId run, const Made& made) {
  const auto found = makers_.find(run);
  if (found == makers_.end()) {
    actions_.emplace_back(delivery::Drop{made.token});
    return;
  }
  Maker& maker = found->second;
  CHECK_EQ(made.begin, maker.next);
  maker.pulling = false;
  maker.next = made.end;
  const Key key = maker.key;
  Production& production = productions_.at(key);
  const bool again = production.made.FirstMissing(made.begin) >= made.end;
  production.made.Add(made.begin, made.end);
  Keep(key, production, {made, maker.job, again});
  if (made.tail) {
    production.rows = made.end;
    production.tails = made.tails;
    StopMaker(run);
  }
  ServeAll(key);
  Settle(key);
}

void Windows::OnEnded(RunId run, int64_t rows, const std::vector<int64_t>& tails) {
  const auto found = makers_.find(run);
  if (found == makers_.end()) return;
  const Key key = found->second.key;
  makers_.erase(found);
  Production& production = productions_.at(key);
  production.makers.erase(run);
  production.rows = rows;
  production.tails = tails;
  ServeAll(key);
  Settle(key);
}

// Those that waited for it are told; others find out when they come there.
void Windows::OnFailed(RunId run, const absl::Status& status) {
  const auto found = makers_.find(run);
  if (found == makers_.end()) return;
  const Maker maker = found->second;
  makers_.erase(found);
  Production& production = productions_.at(maker.key);
  production.makers.erase(run);
  for (const RunId id : std::set<RunId>(production.readers)) {
    const Reader& reader = readers_.at(id);
    if (!reader.pulled || reader.at != maker.next) continue;
    Leave(id);
    actions_.emplace_back(GiveFailure{id, status});
  }
  Settle(maker.key);
}

void Windows::Advance(absl::Time now) {
  now_ = now;
  RetryHeld();
}

absl::Time Windows::wakes() const {
  absl::Time wakes = absl::InfiniteFuture();
  for (const RunId id : held_) {
    const Reader& reader = readers_.at(id);
    wakes = std::min(wakes, *reader.held + JobOf(reader).hold);
  }
  return wakes;
}

// --- After each of these ---

void Windows::Settle(const Key& key) {
  StopUnneeded(productions_.at(key));
  Evict();
  Tidy(key);
  RetryHeld();
}

void Windows::RetryHeld() {
  for (const RunId id : std::set<RunId>(held_)) {
    if (readers_.contains(id)) Serve(id);
  }
}

// A run that no reader will come to need not go on; the nearest before it will.
void Windows::StopUnneeded(Production& production) {
  std::set<RunId> unneeded = production.makers;
  for (const RunId id : production.readers) {
    const int64_t at = readers_.at(id).at;
    std::optional<RunId> nearest;
    for (const RunId maker : production.makers) {
      const int64_t next = makers_.at(maker).next;
      if (next < at) continue;
      if (!nearest || next < makers_.at(*nearest).next) nearest = maker;
    }
    if (nearest) unneeded.erase(*nearest);
  }
  for (const RunId id : unneeded) StopMaker(id);
}

void Windows::StopMaker(RunId id) {
  const auto found = makers_.find(id);
  productions_.at(found->second.key).makers.erase(id);
  makers_.erase(found);
  actions_.emplace_back(StopRun{id});
}

// Of a production that nobody reads and nothing is left of, what is known is kept for a
// while where others may come: whether its rows are made again, and where they end.
void Windows::Tidy(const Key& key) {
  const auto is_idle = [](const Production& production) {
    return production.window.empty() && production.makers.empty() &&
           production.readers.empty();
  };
  const auto found = productions_.find(key);
  if (found == productions_.end() || !is_idle(found->second)) return;
  if (SharersOf(key) < 2) {
    productions_.erase(found);
    return;
  }
  idle_.push_back(key);
  if (std::ssize(idle_) <= kIdleMax) return;
  const auto oldest = productions_.find(idle_.front());
  idle_.pop_front();
  if (oldest != productions_.end() && is_idle(oldest->second)) {
    productions_.erase(oldest);
  }
}

// --- What is kept ---

Windows::Window::iterator Windows::Find(Window& window, int64_t row) {
  auto block = window.upper_bound(row);
  for (int i = 0; i < kOverlapMax && block != window.begin(); ++i) {
    --block;
    if (block->second.source.made.end > row) return block;
  }
  return window.end();
}

void Windows::Keep(const Key& key, Production& production, const Source& source) {
  const Made& made = source.made;
  Use(made.token);
  const auto before = production.window.find(made.begin);
  if (before != production.window.end()) {
    if (before->second.source.made.end >= made.end) return Release(made.token);
    Forget(key, production, before);
  }
  const int64_t number = next_number_++;
  Kept& kept = production.window[made.begin];
  kept = {source, number};
  // What was made again for one is not for those that have had it.
  for (const auto& [job, had] : production.had) {
    if (had.FirstMissing(made.begin) >= made.end) kept.had.insert(job);
  }
  kept_.insert_or_assign(number, std::pair(key, made.begin));
  bytes_ += made.bytes;
  bytes_of_[key.share] += made.bytes;
}

void Windows::Forget(const Key& key, Production& production, Window::iterator kept) {
  const Made& made = kept->second.source.made;
  bytes_ -= made.bytes;
  int64_t& bytes = bytes_of_[key.share];
  bytes -= made.bytes;
  if (bytes == 0) bytes_of_.erase(key.share);
  kept_.erase(kept->second.number);
  Release(made.token);
  production.window.erase(kept);
}

bool Windows::IsNeeded(const Key& key, const Production& production,
                       const Kept& kept) const {
  if (std::ssize(kept.had) < SharersOf(key)) return true;
  return std::ranges::any_of(production.readers, [&](RunId id) {
    return readers_.at(id).at < kept.source.made.end;
  });
}

void Windows::ForgetHad(const Key& key, Production& production) {
  for (auto it = production.window.begin(); it != production.window.end();) {
    const auto kept = it++;
    if (!IsNeeded(key, production, kept->second)) Forget(key, production, kept);
  }
}

void Windows::Evict() {
  while (bytes_ > options_.budget_bytes && !kept_.empty()) {
    const auto [key, row] = kept_.begin()->second;
    Production& production = productions_.at(key);
    Forget(key, production, production.window.find(row));
    Tidy(key);
  }
}

void Windows::Release(Token token) {
  const auto found = uses_.find(token);
  CHECK(found != uses_.end());
  if (--found->second > 0) return;
  uses_.erase(found);
  actions_.emplace_back(delivery::Drop{token});
}

}  // namespace millrace::delivery
