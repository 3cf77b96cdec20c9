#include "millrace/delivery/lane_server.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/error.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/ids.h"
#include "millrace/base/text.h"
#include "millrace/lanes/manifest.h"

namespace millrace::delivery {
namespace {

JobLane KeyOf(const api::ReaderHello& hello, const api::LaneAddress& at) {
  return {hello.job, hello.incarnation, at};
}

// Ends of lanes that are remembered when all else of them is forgotten.
constexpr int64_t kEndedMax = 4096;

// Readers may want rows of lanes before the dispatcher has said that these are run
// here; but there are not many such at once.
constexpr int64_t kUnassignedMax = 4096;

// Wants of one reader that wait: more than any has credit for, of batches that are
// worth sending.
constexpr int64_t kWantsMax = 1 << 18;

// Members of a consumer, as many as the dispatcher takes; and members whose latest
// opening is remembered, besides those that read now.
constexpr int64_t kMembersMax = 1 << 16;

constexpr char kTakenOver[] = "a later opening of this consumer has taken over";

bool IsPossible(const api::Want& want) {
  return want.at.pass >= 0 && want.at.lane >= 0 && want.batch >= 0 &&
         want.batch <= want.begin && want.begin <= want.end &&
         want.end <= lanes::kRowsMax;
}

bool IsSameMember(const api::ReaderHello& a, const api::ReaderHello& b) {
  return a.job == b.job && a.incarnation == b.incarnation && a.consumer == b.consumer &&
         a.member == b.member;
}

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
  if (lane.members != assignment.members) {  // A reader that came first said otherwise.
    Stop(lane);
    lane.members = assignment.members;
  }
  lane.assigned = true;
  lane.now = assignment.now;
  LetGoBefore(lane, assignment.from);
  PullMore(lane);
  StartWaiting();
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

// --- What readers say ---

void LaneServer::OnHello(ReaderId reader, const api::ReaderHello& hello,
                         int64_t members) {
  if (members < 1 || members > kMembersMax) {
    actions_.emplace_back(
        Refuse{reader, base::StrCat("a consumer of so many members: ", members)});
    return;
  }
  const auto incarnation = incarnations_.find(hello.job);
  if (incarnation != incarnations_.end() && hello.incarnation < incarnation->second) {
    actions_.emplace_back(Refuse{reader, "the job was started anew"});
    return;
  }
  const auto latest = generations_.find({hello.job, hello.consumer, hello.member});
  if (latest != generations_.end() && hello.generation < latest->second) {
    actions_.emplace_back(Refuse{reader, kTakenOver});
    return;
  }
  std::vector<ReaderId> older;
  for (const auto& [id, other] : readers_) {
    if (IsSameMember(other.hello, hello) && id != reader) older.push_back(id);
  }
  for (const ReaderId id : older) {
    actions_.emplace_back(Refuse{id, kTakenOver});
    OnReaderGone(id);
  }
  const auto before = readers_.find(reader);
  if (before != readers_.end() && before->second.hello != hello) OnReaderGone(reader);
  readers_.try_emplace(reader, Reader{hello, members, 0});
  AddMember(hello);
}

// Remembers the latest opening; those of members that do not read now only while they
// are few.
void LaneServer::AddMember(const api::ReaderHello& hello) {
  generations_[{hello.job, hello.consumer, hello.member}] = hello.generation;
  if (std::ssize(generations_) <= kMembersMax) return;
  std::map<Member, int64_t> reading;
  for (const auto& [id, reader] : readers_) {
    const api::ReaderHello& own = reader.hello;
    int64_t& generation = reading[{own.job, own.consumer, own.member}];
    generation = std::max(generation, own.generation);
  }
  generations_ = std::move(reading);
}

void LaneServer::OnMessage(ReaderId reader, const api::ReaderMessage& message) {
  const auto found = readers_.find(reader);
  if (found == readers_.end()) return;
  for (const api::LaneAddress& at : message.forget) {
    const auto lane = lanes_.find(KeyOf(found->second.hello, at));
    if (lane == lanes_.end()) continue;
    const auto wants = std::erase_if(lane->second.waiting, [&](const Waiting& waiting) {
      return waiting.reader == reader;
    });
    CountServed(reader, static_cast<int64_t>(wants));
  }
  std::set<JobLane> seen;
  std::vector<JobLane> wanted;  // In the order of the wants.
  for (const api::Want& want : message.wants) {
    std::string wrong = AddWant(reader, want);
    const JobLane key = KeyOf(found->second.hello, want.at);
    if (seen.insert(key).second) wanted.push_back(key);
    if (wrong.empty()) continue;
    actions_.emplace_back(Refuse{reader, std::move(wrong)});
    OnReaderGone(reader);
    return;
  }
  // Once for all wants: it looks at all that wait.
  for (const JobLane& key : wanted) {
    if (lanes_.contains(key)) SendReady(key);
  }
  LetGoNobodys();
}

void LaneServer::CountServed(ReaderId reader, int64_t wants) {
  const auto found = readers_.find(reader);
  if (found != readers_.end()) found->second.wants -= wants;
}

// Whether a lane that the dispatcher has not given to this worker may be run for a
// reader.
bool LaneServer::HasRoomFor(const JobLane& key) const {
  if (std::ssize(lanes_) < kUnassignedMax || lanes_.contains(key)) return true;
  return std::ranges::count_if(lanes_, [](const auto& entry) {
           return !entry.second.assigned;
         }) < kUnassignedMax;
}

// Says why it cannot be; empty: it can.
std::string LaneServer::AddWant(ReaderId id, const api::Want& want) {
  if (!IsPossible(want)) {
    return base::StrCat("rows ", want.begin, " to ", want.end, " of a batch from ",
                        want.batch, " cannot be wanted of lane ", want.at.lane);
  }
  Reader& reader = readers_.at(id);
  const JobLane key = KeyOf(reader.hello, want.at);
  // A reader that asked before it knew where the lane ends need not have it run again.
  const auto ended = ended_.find(key);
  if (ended != ended_.end() && want.begin >= ended->second) {
    actions_.emplace_back(SendEnd{id, {want.at, ended->second}});
    return "";
  }
  if (reader.wants >= kWantsMax) return "it wants too much at once";
  if (!HasRoomFor(key)) return "too many lanes are wanted that are not run here";
  Lane& lane = Add(key, want.batch, reader.members);
  lane.waiting.push_back({id, want});
  ++reader.wants;
  return "";
}

void LaneServer::OnReaderGone(ReaderId reader) {
  readers_.erase(reader);
  for (auto& [key, lane] : lanes_) {
    std::erase_if(lane.waiting,
                  [&](const Waiting& waiting) { return waiting.reader == reader; });
  }
  LetGoNobodys();
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
  const JobLane key = found->second;
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
    news.ended = true;
  }
  Serve(key);
}

void LaneServer::OnEnded(RunId run, int64_t rows) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  const JobLane key = found->second;
  runs_.erase(found);
  Lane& lane = lanes_.at(key);
  lane.run.reset();
  lane.pulling = false;
  lane.rows = rows;
  LaneNews& news = news_.try_emplace(key, LaneNews{key}).first->second;
  news.rows = rows;
  news.ended = true;
  Serve(key);
  StartWaiting();
}

void LaneServer::OnFailed(RunId run, const absl::Status& status) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  const JobLane key = found->second;
  runs_.erase(found);
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

// --- Sending ---

void LaneServer::Serve(const JobLane& key) {
  SendReady(key);
  LetGoNobodys();
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
  DropSent(lane);
  if (IsDone(lane)) {
    LaneNews& news = news_.try_emplace(key, LaneNews{key}).first->second;
    news.rows = *lane.rows;
    news.ended = news.released = true;
    done_[key] = {*lane.rows, lane.assigned};
    Remember(key, *lane.rows);
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

void LaneServer::Remember(const JobLane& key, int64_t rows) {
  if (!ended_.emplace(key, rows).second) return;
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
    auto block = lane.blocks.upper_bound(want.begin);
    if (block == lane.blocks.begin()) break;
    --block;
    if (want.begin >= block->second.made.end) break;
    SendRows(lane, block->second, waiting, key);
  }
  if (lane.rows && want.begin >= *lane.rows && want.begin < want.end) {
    actions_.emplace_back(SendEnd{waiting.reader, {key.at, *lane.rows}});
    return true;
  }
  return want.begin >= want.end;
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
  actions_.emplace_back(
      SendBatch{waiting.reader,
                {key.at, want.begin, end, made.tail, bytes,
                 want.begin == made.begin ? made.digest_before : "",
                 end == made.end ? made.digest : "", made.tail && end == made.end},
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
  runs_.erase(*lane.run);
  lane.run.reset();
  lane.pulling = false;
}

// Lanes that are needed now come before those that will be.
void LaneServer::StartWaiting() {
  const auto to_start = [](const Lane& lane) {
    const bool fresh = lane.assigned && !lane.rows && lane.blocks.empty();
    return !lane.run && (fresh || !lane.waiting.empty());
  };
  for (auto& [key, lane] : lanes_) {
    if (!IsNeeded(lane) || !to_start(lane)) continue;
    if (runs() >= options_.runs_max && !MakeRoom()) return;
    Start(key, lane);
  }
  for (auto& [key, lane] : lanes_) {
    if (runs() >= options_.runs_max) return;
    if (to_start(lane)) Start(key, lane);
  }
}

// Stops a lane that nobody needs yet: the last of them.
bool LaneServer::MakeRoom() {
  for (auto& [key, lane] : std::views::reverse(lanes_)) {
    if (!lane.run || IsNeeded(lane)) continue;
    Stop(lane);
    return true;
  }
  return false;
}

void LaneServer::Start(const JobLane& key, Lane& lane) {
  // What all have had need not be made again, unless somebody wants it.
  int64_t from = lane.had.FirstMissing(lane.from);
  for (const Waiting& waiting : lane.waiting) from = std::min(from, waiting.want.batch);
  lane.from = from;
  lane.run = base::MakeId<RunId>(next_run_++);
  lane.next = lane.from;
  runs_[*lane.run] = key;
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
  if (!lane.run || lane.pulling) return;
  LetGoForStarved(lane);
  if (lane.bytes >= options_.buffer_bytes) return;
  lane.pulling = true;
  actions_.emplace_back(Pull{*lane.run});
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
  }
  for (const auto& [key, done] : done_) news.push_back({key, done.rows, true, true});
  return news;
}

}  // namespace millrace::delivery
