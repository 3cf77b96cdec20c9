#include "millrace/delivery/lane_server.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/error.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/ids.h"

namespace millrace::delivery {
namespace {

// Ends of lanes that are remembered when all else of them is forgotten.
constexpr int64_t kEndedMax = 4096;

}  // namespace

// --- What the dispatcher says ---

LaneServer::Lane& LaneServer::Add(const JobLane& key, int64_t from, int64_t members) {
  const auto [found, added] = lanes_.try_emplace(key);
  Lane& lane = found->second;
  if (added) {
    lane.members = members;
    lane.from = from;
    lane.next = from;
  }
  return lane;
}

void LaneServer::Assign(const JobLane& key, const Assignment& assignment) {
  if (key.incarnation < incarnations_[key.job]) return;
  EndBefore(key.job, key.incarnation);
  if (const auto done = done_.find(key); done != done_.end()) {
    done->second.assigned = true;
    return;
  }
  Lane& lane = Add(key, assignment.from, assignment.members);
  const bool news = !lane.assigned || lane.now != assignment.now;
  if (lane.members != assignment.members) {  // A reader that came first said otherwise.
    Stop(lane);
    lane.members = assignment.members;
  }
  lane.assigned = true;
  lane.now = assignment.now;
  LetGoBefore(lane, assignment.from);
  PullMore(lane);
  // It is said of every lane again and again.
  if (news || !lane.run) StartWaiting();
}

// Nobody needs rows before this one: their readers have them from elsewhere.
void LaneServer::LetGoBefore(Lane& lane, int64_t row) {
  while (!lane.blocks.empty() && lane.blocks.begin()->second.made.end <= row) {
    const Made& made = lane.blocks.begin()->second.made;
    lane.had.Add(made.begin, made.end);
    Erase(lane, lane.blocks.begin());
  }
}

void LaneServer::Unassign(const JobLane& lane) {
  done_.erase(lane);
  const auto found = lanes_.find(lane);
  if (found == lanes_.end()) return;
  found->second.assigned = found->second.now = false;
  LetGoNobodys();
}

void LaneServer::EndBefore(int64_t job, int64_t incarnation) {
  int64_t& latest = incarnations_[job];
  if (incarnation <= latest) return;
  latest = incarnation;
  for (auto it = lanes_.begin(); it != lanes_.end();) {
    const bool over = it->first.job == job && it->first.incarnation < incarnation;
    if (over) Stop(it->second);
    it = over ? lanes_.erase(it) : std::next(it);
  }
  std::erase_if(done_, [&](const auto& entry) {
    return entry.first.job == job && entry.first.incarnation < incarnation;
  });
  std::erase_if(readers_, [&](const auto& entry) {
    const auto& [id, reader] = entry;
    const bool over = reader.hello.job == job && reader.hello.incarnation < incarnation;
    if (over) actions_.emplace_back(Refuse{id, "the job was started anew"});
    return over;
  });
  StartWaiting();
}

// Lanes that others run, or nobody, are run here only while somebody waits for them.
void LaneServer::LetGoNobodys() {
  for (auto it = lanes_.begin(); it != lanes_.end();) {
    const bool over = IsNobodys(it->second);
    if (over) Stop(it->second);
    it = over ? lanes_.erase(it) : std::next(it);
  }
  StartWaiting();
}

// --- What the engine says ---

void LaneServer::OnMade(RunId run, const Made& made) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) {
    actions_.emplace_back(Drop{made.token});
    return;
  }
  const JobLane key = found->second.lane;
  Lane& lane = lanes_.at(key);
  CHECK_EQ(made.begin, lane.next);
  lane.pulling = false;
  lane.next = made.end;
  lane.made = std::max(lane.made, made.end);
  lane.bytes += made.bytes;
  const bool had = lane.had.FirstMissing(made.begin) >= made.end;
  lane.blocks[made.begin] = {made, had ? 0 : (made.end - made.begin) * lane.members};
  if (had) lane.spent.push_back(made.begin);
  LaneNews& news = news_.try_emplace(key, LaneNews{key}).first->second;
  news.rows = std::max(news.rows, made.end);
  if (made.tail) {  // So it is the last; nobody need wait until the run says so.
    StopRunOf(lane);
    lane.rows = made.end;
    lane.tails = made.tails;
    news.ended = true;
    news.tails = made.tails;
  }
  Serve(key);
}

void LaneServer::OnEnded(RunId run, int64_t rows, const std::vector<int64_t>& tails) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  const JobLane key = found->second.lane;
  EndRun(found);
  Lane& lane = lanes_.at(key);
  lane.run.reset();
  lane.pulling = false;
  lane.rows = rows;
  lane.tails = tails;
  LaneNews& news = news_.try_emplace(key, LaneNews{key}).first->second;
  news.rows = rows;
  news.ended = true;
  news.tails = tails;
  Serve(key);
  StartWaiting();
}

void LaneServer::OnFailed(RunId run, const absl::Status& status) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  const JobLane key = found->second.lane;
  EndRun(found);
  Lane& lane = lanes_.at(key);
  lane.run.reset();
  const api::LaneFailure failure{key.at, api::ToError(status)};
  for (const Waiting& waiting : lane.waiting) {
    actions_.emplace_back(SendFailure{waiting.reader, failure});
    CountServed(waiting.reader, 1);
  }
  Stop(lane);
  lanes_.erase(key);
  news_.insert_or_assign(key, LaneNews{.lane = key, .failed = status});
  StartWaiting();
}

void LaneServer::OnSkipped(RunId run, int64_t begin, int64_t end) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  const JobLane key = found->second.lane;
  Lane& lane = lanes_.at(key);
  CHECK_EQ(begin, lane.next);
  lane.next = end;
  lane.made = std::max(lane.made, end);
  lane.had.Add(begin, end);
  lane.skipped[begin] = {end};
  Serve(key);
}

// --- Sending ---

// As others are as they were, they are looked at only where this one has left or waits
// to be started.
void LaneServer::Serve(const JobLane& key) {
  SendReady(key);
  const auto found = lanes_.find(key);
  if (found == lanes_.end() || IsNobodys(found->second)) return LetGoNobodys();
  if (!found->second.run) StartWaiting();
}

// Sends what there is to those that wait for it. What they wait for then comes, or the
// lane begins again.
void LaneServer::SendReady(const JobLane& key) {
  Lane& lane = lanes_.at(key);
  std::erase_if(lane.waiting, [&](Waiting& waiting) {
    const bool served = ServeWant(lane, waiting, key);
    if (served) CountServed(waiting.reader, 1);
    return served;
  });
  // Who wants it all the same, from now on, has it made again.
  std::erase_if(lane.skipped, [](const auto& entry) { return entry.second.told; });
  DropSent(lane);
  if (IsDone(lane)) {
    LaneNews& news = news_.try_emplace(key, LaneNews{key}).first->second;
    news.rows = *lane.rows;
    news.ended = news.released = true;
    news.tails = lane.tails;
    const api::LaneEnd end{key.at, *lane.rows, lane.tails};
    done_[key] = {end, lane.assigned};
    Remember(key, end);
    lanes_.erase(key);
    return;
  }
  if (IsNobodys(lane)) return;
  if (const std::optional<int64_t> missed = Missed(lane)) {
    Stop(lane);
    lane.from = *missed;
    lane.next = *missed;
  }
  PullMore(lane);
}

void LaneServer::Remember(const JobLane& key, const api::LaneEnd& end) {
  if (!ended_.emplace(key, end).second) return;
  ended_order_.push_back(key);
  if (std::ssize(ended_order_) <= kEndedMax) return;
  const JobLane oldest = ended_order_.front();
  ended_order_.pop_front();
  ended_.erase(oldest);
  const auto done = done_.find(oldest);
  if (done != done_.end() && !done->second.assigned) done_.erase(done);
}

// Sends what there is of it; tells whether that was all.
bool LaneServer::ServeWant(Lane& lane, Waiting& waiting, const JobLane& key) {
  api::Want& want = waiting.want;
  while (want.begin < want.end) {
    if (TellSkipped(lane, waiting, key)) continue;
    auto block = lane.blocks.upper_bound(want.begin);
    if (block == lane.blocks.begin()) break;
    --block;
    if (want.begin >= block->second.made.end) break;
    SendRows(lane, block->second, waiting, key);
  }
  if (lane.rows && want.begin >= *lane.rows && want.begin < want.end) {
    TellEnd(waiting.reader, {key.at, *lane.rows, lane.tails});
    return true;
  }
  return want.begin >= want.end;
}

// Tells what it will not get, all of it at once.
bool LaneServer::TellSkipped(Lane& lane, Waiting& waiting, const JobLane& key) {
  api::Want& want = waiting.want;
  const auto found = lane.skipped.upper_bound(want.begin);
  if (found == lane.skipped.begin()) return false;
  Skipped& skipped = std::prev(found)->second;
  if (skipped.end <= want.begin) return false;
  if (!std::exchange(skipped.told, true)) {
    const api::LaneSkip skip{key.at, want.begin, skipped.end};
    actions_.emplace_back(SendSkip{waiting.reader, skip});
  }
  want.begin = want.batch = std::min(want.end, skipped.end);
  return true;
}

// Once, however much behind the end it wants.
void LaneServer::TellEnd(ReaderId reader, const api::LaneEnd& end) {
  const auto* const last =
      actions_.empty() ? nullptr : std::get_if<SendEnd>(&actions_.back());
  const bool told = last != nullptr && last->reader == reader && last->end == end;
  if (!told) actions_.emplace_back(SendEnd{reader, end});
}

void LaneServer::SendRows(Lane& lane, Block& block, Waiting& waiting,
                          const JobLane& key) {
  api::Want& want = waiting.want;
  const Made& made = block.made;
  const int64_t end = std::min(want.end, made.end);
  const bool whole = want.begin == made.begin && end == made.end;
  const int64_t rows = end - want.begin;
  const int64_t bytes =
      whole ? made.bytes : made.bytes * rows / (made.end - made.begin);
  const bool last = made.tail && end == made.end;
  // Who asked before it knew where the lane ends must know which rows of it it has.
  if (!made.tails.empty() && !last)
    TellEnd(waiting.reader, {key.at, made.end, made.tails});
  actions_.emplace_back(
      SendBatch{waiting.reader,
                {key.at, want.begin, end, made.tail, bytes,
                 want.begin == made.begin ? made.digest_before : base::Hash128{},
                 end == made.end ? made.digest : base::Hash128{}, last, made.key,
                 last ? made.tails : std::vector<int64_t>()},
                made.token,
                want.begin - made.begin});
  const Sent sent{waiting.reader, want.begin, end};
  if (std::ranges::find(block.sent, sent) == block.sent.end()) {
    block.sent.push_back(sent);
    block.rows_to_send -= rows;
    if (block.rows_to_send <= 0) lane.spent.push_back(made.begin);
  }
  want.begin = end;
}

// What all have had is let go; but where it was made again it is only for those that
// want it now.
void LaneServer::DropSent(Lane& lane) {
  for (const int64_t begin : std::exchange(lane.spent, {})) {
    const auto block = lane.blocks.find(begin);
    if (block == lane.blocks.end() || block->second.rows_to_send > 0) continue;
    lane.had.Add(block->second.made.begin, block->second.made.end);
    Erase(lane, block);
  }
}

void LaneServer::Erase(Lane& lane, std::map<int64_t, Block>::iterator block) {
  lane.bytes -= block->second.made.bytes;
  actions_.emplace_back(Drop{block->second.made.token});
  lane.blocks.erase(block);
}

// Where a lane must begin again, for rows that are wanted and behind it. What waits in
// its buffer for others will be made again then.
std::optional<int64_t> LaneServer::Missed(const Lane& lane) {
  std::optional<int64_t> missed;
  for (const Waiting& waiting : lane.waiting) {
    const api::Want& want = waiting.want;
    const bool comes = lane.run ? want.begin >= lane.next : !lane.rows;
    if (comes && want.begin >= lane.from) continue;
    missed = std::min(missed.value_or(want.batch), want.batch);
  }
  if (missed && !lane.blocks.empty()) {
    missed = std::min(*missed, lane.blocks.begin()->first);
  }
  return missed;
}

bool LaneServer::IsDone(const Lane& lane) {
  return lane.rows && !lane.run && lane.blocks.empty() && lane.waiting.empty() &&
         lane.had.FirstMissing(lane.from) >= *lane.rows;
}

// --- Running ---

// Forgets what was made, and stops making.
void LaneServer::Stop(Lane& lane) {
  StopRunOf(lane);
  while (!lane.blocks.empty()) Erase(lane, lane.blocks.begin());
  lane.next = lane.from;
}

void LaneServer::StopRunOf(Lane& lane) {
  if (!lane.run) return;
  actions_.emplace_back(StopRun{*lane.run});
  EndRun(runs_.find(*lane.run));
  lane.run.reset();
  lane.pulling = false;
}

void LaneServer::Start(const JobLane& key, Lane& lane) {
  // What all have had need not be made again, unless somebody wants it.
  int64_t from = lane.had.FirstMissing(lane.from);
  for (const Waiting& waiting : lane.waiting) from = std::min(from, waiting.want.batch);
  lane.from = from;
  lane.run = base::MakeId<RunId>(next_run_++);
  lane.next = lane.from;
  runs_[*lane.run] = {key, SlotOf(key)};
  ++slots_[SlotOf(key)];
  actions_.emplace_back(StartRun{*lane.run, key, lane.from});
  PullMore(lane);
}

// A buffer full of what nobody wants must not hold up what somebody does: rows that
// their reader has from elsewhere. If it has not, it asks, and they are made again.
void LaneServer::LetGoForStarved(Lane& lane) {
  const bool starved = std::ranges::any_of(lane.waiting, [&](const Waiting& waiting) {
    return waiting.want.begin >= lane.next;
  });
  while (starved && !lane.blocks.empty() && lane.bytes >= options_.buffer_bytes) {
    Erase(lane, lane.blocks.begin());
  }
}

void LaneServer::PullMore(Lane& lane) {
  if (!lane.run) return;
  const bool was_needed = std::exchange(lane.needed, IsNeeded(lane));
  if (lane.pulling) {
    if (lane.needed && !was_needed) actions_.emplace_back(Hurry{*lane.run});
    return;
  }
  LetGoForStarved(lane);
  if (lane.bytes >= options_.buffer_bytes) return;
  lane.pulling = true;
  actions_.emplace_back(Pull{*lane.run, lane.needed});
}

// --- Telling ---

std::vector<LaneNews> LaneServer::TakeNews() {
  std::vector<LaneNews> news;
  news.reserve(news_.size());
  for (auto& [key, item] : news_) news.push_back(std::move(item));
  news_.clear();
  return news;
}

std::vector<LaneNews> LaneServer::AllNews() const {
  std::vector<LaneNews> news;
  news.reserve(lanes_.size() + done_.size());
  for (const auto& [key, lane] : lanes_) {
    news.push_back({key, lane.rows.value_or(lane.made), lane.rows.has_value()});
    news.back().tails = lane.tails;
  }
  for (const auto& [key, done] : done_) {
    news.push_back({key, done.end.rows, true, true});
    news.back().tails = done.end.tails;
  }
  return news;
}

}  // namespace millrace::delivery
