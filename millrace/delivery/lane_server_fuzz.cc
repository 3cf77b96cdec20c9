// Drives a worker's side of delivery: a dispatcher and an engine that are honest, and
// readers that say anything. Nothing crashes; each block is dropped once, and only what
// is held is sent; once all have gone nothing is left.

#include "millrace/delivery/lane_server.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/drawn_test.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/ids.h"

namespace millrace::delivery {
namespace {

constexpr int64_t kLanes = 5;
constexpr int64_t kBlockRows = 3;
constexpr int64_t kReaders = 4;
constexpr int64_t kJobs = 2;
constexpr int kStepsMax = 512;
constexpr LaneServerOptions kOptions = {.runs_max = 3, .buffer_bytes = 4};

// What comes out of a lane.
int64_t RowsOf(const JobLane& lane) { return lane.at.lane % 4 * 4; }

class World {
 public:
  explicit World(api::Drawn& drawn) : drawn_(drawn) {}

  void Step() {
    constexpr auto kSteps = std::to_array<void (World::*)()>(
        {&World::Assign, &World::Assign, &World::Unassign, &World::Read, &World::Read,
         &World::Read, &World::Make, &World::Make, &World::Make, &World::Fail,
         &World::Leave, &World::Tell});
    (this->*kSteps[drawn_.Below(kSteps.size())])();
    DoActions();
  }

  // Everybody goes; whatever was said, nothing is left.
  void End() {
    for (const auto& [reader, hello] : hellos_) server_.OnReaderGone(reader);
    for (const JobLane& lane : assigned_) server_.Unassign(lane);
    DoActions();
    CHECK(server_.idle());
    CHECK(held_.empty()) << held_.size();
    CHECK(runs_.empty());
    CHECK_EQ(server_.runs(), 0);
  }

 private:
  struct Run {
    JobLane lane;
    int64_t next = 0;
    bool pulled = false;
  };

  struct Block {
    int64_t rows = 0;
    JobLane lane;
  };

  // --- The dispatcher ---

  JobLane Lane() {
    return {1 + drawn_.Below(kJobs), incarnation_, {0, drawn_.Below(kLanes)}};
  }

  void Assign() {
    if (drawn_.Below(16) == 0) ++incarnation_;
    const JobLane lane = Lane();
    server_.Assign(lane, {.from = drawn_.Below(4),
                          .members = 1 + drawn_.Below(2),
                          .now = drawn_.Half()});
    assigned_.insert(lane);
  }

  void Unassign() {
    const JobLane lane = Lane();
    server_.Unassign(lane);
    assigned_.erase(lane);
  }

  void Tell() {
    (void)server_.TakeNews();
    (void)server_.AllNews();
  }

  // --- Readers ---

  // Says who it is, if it has not, or again; and what it wants.
  void Read() {
    const auto id = base::MakeId<ReaderId>(drawn_.Below(kReaders));
    api::ReaderMessage message;
    if (!hellos_.contains(id) || drawn_.Below(8) == 0) {
      message.hello = {.job = 1 + drawn_.Below(kJobs), .incarnation = incarnation_};
      message.hello->consumer = drawn_.Below(2);
      message.hello->member = drawn_.Below(2);
      message.hello->generation = drawn_.Below(3);
      message.hello->members = 1 + drawn_.Below(2);
    }
    if (drawn_.Below(4) == 0) message.forget.push_back({0, drawn_.Below(kLanes)});
    for (int64_t wants = drawn_.Below(4); wants > 0; --wants) {
      const int64_t batch = drawn_.Below(12);
      const int64_t begin = batch + drawn_.Below(2);
      const int64_t end = begin + drawn_.Below(5);
      message.wants.push_back({{0, drawn_.Below(kLanes)}, begin, end, batch});
    }
    drawn_.Change(message);
    if (message.hello) {
      hellos_[id] = *message.hello;
      server_.OnHello(id, *message.hello, message.hello->members);
    }
    server_.OnMessage(id, message);
  }

  void Leave() { Gone(base::MakeId<ReaderId>(drawn_.Below(kReaders))); }

  void Gone(ReaderId reader) {
    server_.OnReaderGone(reader);
    hellos_.erase(reader);
  }

  // --- The engine ---

  // A run that was told to make a block does; one that was stopped may still have.
  void Make() {
    if (runs_.empty()) return;
    const auto found = std::next(runs_.begin(), drawn_.Below(std::ssize(runs_)));
    Run& run = found->second;
    if (!run.pulled) return;
    const int64_t rows = RowsOf(run.lane);
    if (run.next >= rows) return End(found->first, std::min(rows, run.next));
    run.pulled = false;
    Made made{.begin = run.next, .end = std::min(rows, run.next + kBlockRows)};
    made.tail = made.end - made.begin < kBlockRows;
    made.bytes = made.end - made.begin;
    made.token = base::MakeId<Token>(tokens_++);
    run.next = made.end;
    held_[made.token] = {made.end - made.begin, run.lane};
    const bool late = drawn_.Below(8) == 0;
    const auto unknown = base::MakeId<RunId>(-1);
    if (late) run.next = made.begin, run.pulled = true;
    server_.OnMade(late ? unknown : found->first, made);
  }

  void End(RunId run, int64_t rows) {
    runs_.erase(run);
    server_.OnEnded(run, rows);
  }

  void Fail() {
    if (runs_.empty()) return;
    const RunId run = runs_.begin()->first;
    runs_.erase(run);
    server_.OnFailed(run, absl::InternalError("x"));
  }

  // --- What the worker does ---

  void DoActions() {
    std::vector<ReaderId> refused;
    for (const ServerAction& action : server_.TakeActions()) {
      std::visit([&](const auto& one) { Do(one, refused); }, action);
    }
    // A job that has none at work gets one beyond the limit; each reader may speak of
    // one that nobody else knows.
    CHECK_LE(server_.runs(), kOptions.runs_max + kJobs + kReaders);
    if (refused.empty()) return;
    for (const ReaderId reader : refused) Gone(reader);
    DoActions();
  }

  void Do(const StartRun& start, std::vector<ReaderId>& /*refused*/) {
    CHECK_GE(start.from, 0);
    CHECK(runs_.emplace(start.run, Run{start.lane, start.from}).second);
  }

  void Do(const StopRun& stop, std::vector<ReaderId>& /*refused*/) {
    CHECK_EQ(runs_.erase(stop.run), 1);
  }

  void Do(const Pull& pull, std::vector<ReaderId>& /*refused*/) {
    const auto run = runs_.find(pull.run);
    if (run == runs_.end()) return;
    CHECK(!run->second.pulled);
    run->second.pulled = true;
  }

  void Do(const Hurry& hurry, std::vector<ReaderId>& /*refused*/) {
    CHECK(runs_.at(hurry.run).pulled);
  }

  void Do(const SendBatch& send, std::vector<ReaderId>& /*refused*/) const {
    const auto block = held_.find(send.token);
    CHECK(block != held_.end());
    CHECK(send.head.at == block->second.lane.at);
    CHECK_GE(send.skip, 0);
    CHECK_LT(send.head.begin, send.head.end);
    CHECK_LE(send.skip + send.head.end - send.head.begin, block->second.rows);
    CHECK_LE(send.head.bytes, block->second.rows);
  }

  void Do(const SendEnd& /*send*/, std::vector<ReaderId>& /*refused*/) const {}

  void Do(const SendSkip& send, std::vector<ReaderId>& /*refused*/) const {
    CHECK_LT(send.skip.begin, send.skip.end);
  }

  void Do(const SendFailure& /*send*/, std::vector<ReaderId>& /*refused*/) const {}

  void Do(const Refuse& refuse, std::vector<ReaderId>& refused) const {
    CHECK(!refuse.reason.empty());
    refused.push_back(refuse.reader);
  }

  void Do(const Drop& drop, std::vector<ReaderId>& /*refused*/) {
    CHECK_EQ(held_.erase(drop.token), 1);
  }

  api::Drawn& drawn_;
  LaneServer server_{kOptions};
  int64_t incarnation_ = 1;
  std::set<JobLane> assigned_;
  std::map<ReaderId, api::ReaderHello> hellos_;
  std::map<RunId, Run> runs_;
  std::map<Token, Block> held_;
  int64_t tokens_ = 0;
};

}  // namespace
}  // namespace millrace::delivery

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millrace::api::Drawn drawn(data, size, {});
  millrace::delivery::World world(drawn);
  for (int step = 0; step < millrace::delivery::kStepsMax && !drawn.empty(); ++step) {
    world.Step();
  }
  world.End();
  return 0;
}
