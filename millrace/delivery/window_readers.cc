// The part of the windows that gives readers their rows (windows.h).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/base/ids.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/windows.h"

namespace millrace::delivery {

void Windows::ServeAll(const Key& key) {
  for (const RunId id : std::set<RunId>(productions_.at(key).readers)) {
    if (readers_.contains(id)) Serve(id);
  }
}

// Gives it what it was told to make, or sees to it that it is made.
void Windows::Serve(RunId id) {
  Reader& reader = readers_.at(id);
  const Production& production = productions_.at(*reader.key);
  while (reader.pulled) {
    if (production.rows && reader.at >= *production.rows) return GiveRest(id, reader);
    if (Collect(id, reader) || Skip(id, reader)) continue;
    return Extend(id, reader);
  }
}

// Takes what the window has of its next batch; tells whether that was anything.
bool Windows::Collect(RunId id, Reader& reader) {
  const Key& key = *reader.key;
  Production& production = productions_.at(key);
  const auto found = Find(production.window, reader.at);
  if (found == production.window.end()) return false;
  Kept& kept = found->second;
  const Made& made = kept.source.made;
  const int64_t joins = JobOf(reader).joins;
  const int64_t end = joins > 0 ? std::min(made.end, reader.next + joins) : made.end;
  const int64_t rows = end - reader.at;
  const bool stacked = joins > 0 && !made.tail;
  reader.parts.push_back({made.token, reader.at - made.begin, rows, stacked});
  reader.sources.push_back(kept.source);
  Use(made.token);
  Count(reader, kept.source, rows);
  production.had[reader.start.lane.job].Add(reader.at, end);
  reader.at = end;
  const bool tail = joins == 0 && made.tail;
  if (end == made.end) {
    kept.had.insert(reader.start.lane.job);
    if (!IsNeeded(key, production, kept)) Forget(key, production, found);
  }
  if (joins == 0 || end == reader.next + joins) Give(id, reader, tail);
  return true;
}

void Windows::Count(const Reader& reader, const Source& source, int64_t rows) {
  api::JobVisits& visits = visits_[reader.start.lane.job];
  const int64_t job = reader.start.lane.job;
  if (source.job != job) {
    visits.shared += rows;
  } else if (source.again) {
    visits.again += rows;
  } else {
    visits.made += rows;
  }
}

// Gives what was collected, as one block. One that was made so is given itself.
void Windows::Give(RunId id, Reader& reader, bool tail) {
  const Made& first = reader.sources.front().made;
  const Made& last = reader.sources.back().made;
  Made made{reader.next, reader.at, tail};
  if (first.begin == made.begin) made.digest_before = first.digest_before;
  if (last.end == made.end) made.digest = last.digest;
  for (int64_t i = 0; i < std::ssize(reader.parts); ++i) {
    const Made& source = reader.sources[i].made;
    made.bytes += source.bytes * reader.parts[i].rows / (source.end - source.begin);
  }
  const bool whole = reader.parts.size() == 1 && first.begin == made.begin &&
                     first.end == made.end && first.tail == tail;
  if (whole) {
    made = Made(first);
  } else {
    made.token = base::MakeId<Token>(next_token_--);
    Use(made.token);
    const bool stacked = JobOf(reader).joins > 0 && !tail;
    actions_.emplace_back(Compose{made.token, reader.parts, stacked});
    if (reader.parts.size() > 1) {
      visits_[reader.start.lane.job].joined += made.end - made.begin;
    }
    for (const BlockPart& part : reader.parts) Release(part.token);
  }
  reader.parts.clear();
  reader.sources.clear();
  reader.next = reader.at;
  reader.pulled = false;
  actions_.emplace_back(GiveMade{id, made});
}

// At the lane's end: what fills no batch, and then nothing more.
void Windows::GiveRest(RunId id, Reader& reader) {
  if (!reader.parts.empty()) return Give(id, reader, /*tail=*/true);
  const Production& production = productions_.at(*reader.key);
  GiveEnd end{id, *production.rows, production.tails};
  Leave(id);
  actions_.emplace_back(std::move(end));
}

// Goes on where the window begins, or behind all that was made, if its job does without
// what it has missed since it began. Tells whether it did.
bool Windows::Skip(RunId id, Reader& reader) {
  const Job& job = JobOf(reader);
  const bool begun = reader.next > reader.start.from;
  if (!job.skips || job.sharers < 2 || !begun) return false;
  const Production& production = productions_.at(*reader.key);
  const int64_t made = production.made.FirstMissing(reader.at);
  const auto kept = production.window.upper_bound(reader.at);
  int64_t to = kept == production.window.end() ? made : std::min(kept->first, made);
  if (job.joins > 0) {  // To where a batch of its own begins that was made.
    const int64_t rows = to - reader.next;
    const int64_t up = reader.next + (rows + job.joins - 1) / job.joins * job.joins;
    to = up <= made ? up : reader.next + rows / job.joins * job.joins;
  }
  if (to <= reader.at) return false;
  for (const BlockPart& part : reader.parts) Release(part.token);
  reader.parts.clear();
  reader.sources.clear();
  visits_[reader.start.lane.job].skipped += to - reader.next;
  actions_.emplace_back(GiveSkip{id, reader.next, to});
  reader.next = reader.at = to;
  return true;
}

// The rows that it needs next are to be made.
void Windows::Extend(RunId id, Reader& reader) {
  if (IsHeld(id, reader)) return;
  Production& production = productions_.at(*reader.key);
  for (const RunId run : production.makers) {
    Maker& maker = makers_.at(run);
    if (maker.next != reader.at) continue;
    if (std::exchange(maker.pulling, true)) {
      if (!reader.needed || std::exchange(maker.needed, true)) return;
      actions_.emplace_back(delivery::Hurry{run});
      return;
    }
    maker.job = reader.start.lane.job;
    maker.needed = reader.needed;
    actions_.emplace_back(delivery::Pull{run, maker.needed});
    return;
  }
  const auto run = base::MakeId<RunId>(next_run_++);
  makers_[run] = {*reader.key, reader.start.lane.job, reader.at, true, reader.needed};
  production.makers.insert(run);
  actions_.emplace_back(StartRun{run, reader.start.lane, reader.at});
  actions_.emplace_back(delivery::Pull{run, reader.needed});
}

// Whether it waits, for a while, for readers behind it that would lose rows.
bool Windows::IsHeld(RunId id, Reader& reader) {
  const Job& job = JobOf(reader);
  const Production& production = productions_.at(*reader.key);
  const int64_t comes = production.window.empty()
                            ? 0
                            : production.window.rbegin()->second.source.made.bytes;
  const bool loses = job.hold > absl::ZeroDuration() &&
                     bytes_ + comes > options_.budget_bytes &&
                     std::ranges::any_of(production.readers, [&](RunId other) {
                       return readers_.at(other).at < reader.at;
                     });
  if (!loses) {
    reader.held.reset();
  } else if (!reader.held) {
    reader.held = now_;
  }
  const bool held = loses && now_ < *reader.held + job.hold;
  if (held) {
    held_.insert(id);
  } else {
    held_.erase(id);
  }
  return held;
}

}  // namespace millrace::delivery
