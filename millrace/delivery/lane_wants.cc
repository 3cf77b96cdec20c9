// The part of the worker's side that hears readers (lane_server.h).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "millrace/api/stream.h"
#include "millrace/base/text.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/lanes/manifest.h"

namespace millrace::delivery {
namespace {

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

JobLane KeyOf(const api::ReaderHello& hello, const api::LaneAddress& at) {
  return {hello.job, hello.incarnation, at};
}

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
  if (ended != ended_.end() && want.begin >= ended->second.rows) {
    TellEnd(id, ended->second);
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

}  // namespace millrace::delivery
