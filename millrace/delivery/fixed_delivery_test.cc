// Readers and workers of a pass in fixed order, run against each other: messages are
// late, streams break with what they carry, workers die and come back, lanes are placed
// anywhere and moved for no reason, the whole job is restored with other consumers.
// What consumers take must be the plain loop over the tracks.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/ids.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/delivery/digests_test.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/tracks.h"

namespace millrace::delivery {
namespace {

using base::IsOk;
using base::ToNumber;
using lanes::LaneRange;

// Rows of a lane, as somebody holds them.
struct Rows {
  int64_t lane = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

class Cluster {
 public:
  explicit Cluster(uint64_t seed)
      : random_(base::RandomKey(seed, 0, 0), {}),
        lane_rows_(random_.Integer(0, 20)),
        batching_{random_.Integer(1, 5), random_.Integer(0, 2) == 1},
        counted_(random_.Integer(0, 2) == 1),
        remainder_(static_cast<Remainder>(random_.Integer(0, 3))),
        workers_(random_.Integer(1, 5)) {
    for (int64_t& rows : lane_rows_)
      rows = random_.Integer(0, 4) * random_.Integer(0, 8);
    buffer_bytes_ = random_.Integer(1, 40);
    const int64_t tracks = random_.Integer(1, 6);
    runs_max_ = random_.Integer(tracks, 2 * tracks + 1);
    whole_ = lanes::DealAll(lane_rows_, tracks);
    for (Worker& worker : workers_) Restart(worker);
    Begin(Seen(whole_));
  }

  // Runs to the end of the pass.
  void Run() {
    for (int64_t step = 0; step < 200'000; ++step) {
      if (Done()) return Check();
      const int64_t dice = random_.Integer(0, 1000);
      if (step < 4000 && dice < 4) {
        Fault();
      } else if (dice < 300) {
        Deliver();
      } else if (dice < 550) {
        MakeOne();
      } else if (dice < 700) {
        Tell();
      } else if (dice < 720) {
        PlaceAll();
      } else {
        TakeOne();
      }
      if (testing::Test::HasFatalFailure()) return;
    }
    FAIL() << "no progress";
  }

 private:
  struct Making {
    JobLane lane;
    int64_t next = 0;
    bool pulled = false;
  };

  struct Worker {
    std::unique_ptr<LaneServer> server = {};
    std::map<RunId, Making> runs = {};
    std::map<Token, Rows> blocks = {};
  };

  // A stream between a reader and a worker; what is in it is lost when it breaks.
  struct Stream {
    ReaderId id = {};
    std::deque<api::ReaderMessage> to_worker = {};
    std::deque<std::pair<api::WorkerMessage, Rows>> to_reader = {};
  };

  struct Consumer {
    std::unique_ptr<FixedReader> reader = {};
    std::map<Token, Rows> held = {};
    std::map<int64_t, Stream> streams = {};  // By worker.
    std::vector<std::pair<std::vector<LaneRange>, bool>> taken = {};
  };

  void Begin(const lanes::Rest& rest) {
    ++incarnation_;
    rest_ = True(rest);
    consumers_ = std::vector<Consumer>(random_.Integer(1, 5));
    known_ = {};
    placed_.clear();
    for (int64_t i = 0; i < std::ssize(consumers_); ++i) {
      FixedReaderOptions options{.consumers = std::ssize(consumers_), .consumer = i};
      options.batching = batching_;
      options.remainder = remainder_;
      options.counted = counted_;
      options.credit_bytes = random_.Integer(1, 30);
      options.batch_bytes = 1;
      consumers_[i].reader = std::make_unique<FixedReader>(options, rest, Seen(whole_));
    }
    for (int64_t i = 0; i < std::ssize(consumers_); ++i) DoReader(i);
  }

  // A rest as it would be if all were known.
  lanes::Rest True(lanes::Rest rest) const {
    const auto end = [&](std::vector<LaneRange>& ranges) {
      for (LaneRange& range : ranges) range.end = lane_rows_[range.lane];
      std::erase_if(ranges, [](const LaneRange& range) { return range.rows() <= 0; });
    };
    for (lanes::Track& track : rest.tracks) {
      end(track.carry);
      end(track.lanes);
    }
    return rest;
  }

  // What consumers know of a rest when they begin.
  lanes::Rest Seen(lanes::Rest rest) const {
    if (counted_) return rest;
    for (lanes::Track& track : rest.tracks) {
      for (LaneRange& range : track.carry) range.end = lanes::kRowsMax;
      for (LaneRange& range : track.lanes) range.end = lanes::kRowsMax;
    }
    return rest;
  }

  // --- The network ---

  Stream& StreamOf(int64_t consumer, int64_t worker) {
    const auto [found, added] = consumers_[consumer].streams.try_emplace(worker);
    if (added) {
      found->second.id = base::MakeId<ReaderId>(next_reader_++);
      readers_[found->second.id] = {incarnation_, consumer, worker};
      const api::ReaderHello hello{1, incarnation_, consumer, 0, 1};
      found->second.to_worker.push_back({hello, {}, {}});
    }
    return found->second;
  }

  void Break(int64_t consumer, int64_t worker) {
    const auto found = consumers_[consumer].streams.find(worker);
    if (found == consumers_[consumer].streams.end()) return;
    workers_[worker].server->OnReaderGone(found->second.id);
    DoWorker(worker);
    consumers_[consumer].streams.erase(worker);
    consumers_[consumer].reader->OnWorkerGone(base::MakeId<WorkerId>(worker));
    DoReader(consumer);
  }

  void Deliver() {
    const int64_t consumer = random_.Integer(0, std::ssize(consumers_));
    auto& streams = consumers_[consumer].streams;
    if (streams.empty()) return;
    auto it = std::next(streams.begin(), random_.Integer(0, std::ssize(streams)));
    const int64_t worker = it->first;
    Stream& stream = it->second;
    if (random_.Integer(0, 2) == 0 && !stream.to_worker.empty()) {
      const api::ReaderMessage message = stream.to_worker.front();
      stream.to_worker.pop_front();
      LaneServer& server = *workers_[worker].server;
      if (message.hello) server.OnHello(stream.id, *message.hello, 1);
      server.OnMessage(stream.id, message);
      DoWorker(worker);
    } else if (!stream.to_reader.empty()) {
      const auto [message, rows] = stream.to_reader.front();
      stream.to_reader.pop_front();
      Receive(consumer, message, rows);
    }
  }

  void Receive(int64_t consumer, const api::WorkerMessage& message, const Rows& rows) {
    FixedReader& reader = *consumers_[consumer].reader;
    if (message.batch) {
      const Token token = base::MakeId<Token>(next_token_++);
      consumers_[consumer].held[token] = rows;
      ASSERT_THAT(reader.OnBatch(*message.batch, token), IsOk());
    }
    if (message.end) {
      ASSERT_THAT(reader.OnEnd(*message.end), IsOk());
    }
    DoReader(consumer);
  }

  // --- Consumers ---

  void DoReader(int64_t consumer) {
    for (ReaderAction& action : consumers_[consumer].reader->TakeActions()) {
      if (const auto* send = std::get_if<SendWants>(&action)) {
        StreamOf(consumer, ToNumber(send->worker)).to_worker.push_back(send->message);
      } else {
        consumers_[consumer].held.erase(std::get<Drop>(action).token);
      }
    }
  }

  void TakeOne() {
    const int64_t number = random_.Integer(0, std::ssize(consumers_));
    Consumer& consumer = consumers_[number];
    if (consumer.reader->ready() != FixedReader::Ready::kBatch) return;
    std::vector<LaneRange> ranges;
    const TakenBatch batch = consumer.reader->Take();
    for (const BatchPart& part : batch.parts) {
      const Rows& rows = consumer.held.at(part.token);
      const int64_t begin = rows.begin + part.skip;
      ASSERT_LE(begin + part.rows, rows.end);
      ASSERT_TRUE(part.tail || batch.parts.size() == 1) << "only tails are joined";
      ranges.push_back({rows.lane, begin, begin + part.rows});
      if (part.last_use) consumer.held.erase(part.token);
    }
    consumer.taken.emplace_back(ranges, batch.valid > 0);
    DoReader(number);
  }

  // --- Workers ---

  void Restart(Worker& worker) {
    worker = {};
    worker.server = std::make_unique<LaneServer>(
        LaneServerOptions{.runs_max = runs_max_, .buffer_bytes = buffer_bytes_});
  }

  void DoWorker(int64_t number) {
    Worker& worker = workers_[number];
    for (ServerAction& action : worker.server->TakeActions()) {
      if (const auto* start = std::get_if<StartRun>(&action)) {
        worker.runs[start->run] = {start->lane, start->from};
        EXPECT_LE(std::ssize(worker.runs), runs_max_);
      } else if (const auto* stop = std::get_if<StopRun>(&action)) {
        worker.runs.erase(stop->run);
      } else if (const auto* pull = std::get_if<Pull>(&action)) {
        worker.runs.at(pull->run).pulled = true;
      } else if (const auto* drop = std::get_if<Drop>(&action)) {
        worker.blocks.erase(drop->token);
      } else {
        Send(number, action);
      }
    }
  }

  void Send(int64_t worker, const ServerAction& action) {
    if (const auto* batch = std::get_if<SendBatch>(&action)) {
      const Rows block = workers_[worker].blocks.at(batch->token);
      Rows rows{block.lane, block.begin + batch->skip, 0};
      rows.end = rows.begin + batch->head.end - batch->head.begin;
      api::WorkerMessage message;
      message.batch = batch->head;
      SendTo(worker, batch->reader, {message, rows});
    } else if (const auto* end = std::get_if<SendEnd>(&action)) {
      api::WorkerMessage message;
      message.end = end->end;
      SendTo(worker, end->reader, {message, {}});
    }
  }

  void SendTo(int64_t worker, ReaderId id,
              std::pair<api::WorkerMessage, Rows> message) {
    const auto [incarnation, consumer, to] = readers_.at(id);
    if (incarnation != incarnation_) return;
    auto& streams = consumers_[consumer].streams;
    const auto found = streams.find(worker);
    if (found == streams.end() || found->second.id != id) return;
    found->second.to_reader.push_back(std::move(message));
  }

  void MakeOne() {
    const int64_t number = random_.Integer(0, std::ssize(workers_));
    Worker& worker = workers_[number];
    if (worker.runs.empty()) return;
    const auto it =
        std::next(worker.runs.begin(), random_.Integer(0, std::ssize(worker.runs)));
    const auto [id, run] = *it;
    if (!run.pulled) return;
    const int64_t lane = run.lane.at.lane;
    const int64_t left = lane_rows_[lane] - run.next;
    if (left <= 0) {
      worker.runs.erase(it);
      worker.server->OnEnded(id, lane_rows_[lane]);
    } else {
      const int64_t end = run.next + std::min(left, batching_.rows);
      it->second = {run.lane, end, false};
      Made made{run.next,
                end,
                left < batching_.rows,
                end - run.next,
                DigestAt(lane, run.next),
                DigestAt(lane, end),
                base::MakeId<Token>(next_token_++)};
      worker.blocks[made.token] = {lane, run.next, end};
      worker.server->OnMade(id, made);
    }
    DoWorker(number);
  }

  // --- Somebody who places lanes and passes on what workers know ---

  // Has lanes run that somebody needs, and no others.
  void PlaceAll() {
    std::map<int64_t, LaneNeed> needs;
    for (const Consumer& consumer : consumers_) {
      for (const LaneNeed& need : consumer.reader->Needs()) {
        LaneNeed& all = needs.try_emplace(need.at.lane, need).first->second;
        all.now = all.now || need.now;
        all.from = std::min(all.from, need.from);
      }
    }
    for (auto it = placed_.begin(); it != placed_.end();) {
      const auto [lane, worker] = *it++;
      if (!needs.contains(lane)) Move(lane, std::nullopt);
    }
    for (const auto& [lane, need] : needs) {
      if (!placed_.contains(lane)) Move(lane, random_.Integer(0, std::ssize(workers_)));
      workers_[placed_[lane]].server->Assign(KeyOf(lane), {need.from, 1, need.now});
      DoWorker(placed_[lane]);
      TellPlace(lane);
    }
  }

  JobLane KeyOf(int64_t lane) const { return {1, incarnation_, {0, lane}}; }

  void Move(int64_t lane, std::optional<int64_t> worker) {
    if (placed_.contains(lane)) {
      workers_[placed_[lane]].server->Unassign(KeyOf(lane));
      DoWorker(placed_[lane]);
      placed_.erase(lane);
    }
    if (worker) placed_[lane] = *worker;
  }

  void TellPlace(int64_t lane) {
    for (int64_t i = 0; i < std::ssize(consumers_); ++i) {
      if (random_.Integer(0, 8) == 0) continue;  // It hears of it some other time.
      consumers_[i].reader->OnPlaced({0, lane}, base::MakeId<WorkerId>(placed_[lane]));
      DoReader(i);
    }
  }

  void Tell() {
    const int64_t worker = random_.Integer(0, std::ssize(workers_));
    for (const LaneNews& news : workers_[worker].server->TakeNews()) {
      if (news.lane.incarnation != incarnation_) continue;
      ASSERT_THAT(known_.Learn(news.lane.at.lane, {news.rows, news.ended}), IsOk());
    }
    const int64_t consumer = random_.Integer(0, std::ssize(consumers_));
    for (int64_t lane = 0; lane < std::ssize(lane_rows_); ++lane) {
      const lanes::KnownLane known = known_.Get(lane);
      ASSERT_THAT(consumers_[consumer].reader->OnKnown(lane, known), IsOk());
    }
    DoReader(consumer);
  }

  // --- Faults ---

  void Fault() {
    const int64_t worker = random_.Integer(0, std::ssize(workers_));
    const int64_t consumer = random_.Integer(0, std::ssize(consumers_));
    const int64_t dice = random_.Integer(0, 10);
    if (dice < 4) {
      Break(consumer, worker);
    } else if (dice == 4 && !placed_.empty()) {
      Move(placed_.begin()->first, worker);  // For no reason at all.
    } else if (dice < 8) {
      for (int64_t i = 0; i < std::ssize(consumers_); ++i) Break(i, worker);
      Restart(workers_[worker]);
      std::erase_if(placed_, [&](const auto& place) { return place.second == worker; });
      for (int64_t i = 0; i < std::ssize(consumers_); ++i) {
        consumers_[i].reader->OnWorkerGone(base::MakeId<WorkerId>(worker));
      }
    } else {
      Resume();
    }
  }

  // Saves where all are at one step, loses everything, goes on with others.
  void Resume() {
    for (const Consumer& consumer : consumers_) {
      if (consumer.taken.size() != consumers_[0].taken.size()) return;
    }
    const lanes::TrackOrder order(rest_, batching_);
    const int64_t positions = std::ssize(consumers_) * std::ssize(consumers_[0].taken);
    if (positions > order.positions()) return;
    Check();
    for (const Consumer& consumer : consumers_) {
      EXPECT_EQ(consumer.reader->rest(), consumers_[0].reader->rest());
    }
    const lanes::Rest left = consumers_[0].reader->rest();
    EXPECT_EQ(True(left), order.After(positions));
    Begin(Seen(left));
  }

  // --- What must hold ---

  bool Done() const {
    return std::ranges::all_of(consumers_, [](const Consumer& consumer) {
      return consumer.reader->ready() == FixedReader::Ready::kEnd;
    });
  }

  void Check() const {
    const lanes::TrackOrder order(rest_, batching_);
    const lanes::TrackOrder whole(whole_, batching_);
    const int64_t n = std::ssize(consumers_);
    const bool over = Done();
    for (int64_t i = 0; i < n; ++i) {
      const auto& taken = consumers_[i].taken;
      for (int64_t round = 0; round < std::ssize(taken); ++round) {
        const auto& [rows, valid] = taken[round];
        const int64_t position = round * n + i;
        ASSERT_EQ(valid, position < order.positions());
        const int64_t fill = position - order.positions();
        ASSERT_EQ(rows,
                  valid ? order.At(position) : whole.At(fill % whole.positions()));
      }
      if (!over) continue;
      const int64_t all = order.positions();
      const int64_t kept = remainder_ == Remainder::kKeep && i < all % n ? 1 : 0;
      const int64_t padded = remainder_ == Remainder::kPad && all % n > 0 ? 1 : 0;
      ASSERT_EQ(std::ssize(taken), all / n + kept + padded) << "consumer " << i;
      EXPECT_TRUE(consumers_[i].held.empty()) << "kept what nobody needs";
    }
  }

  base::Generator random_;
  std::vector<int64_t> lane_rows_;
  lanes::Batching batching_;
  bool counted_;
  Remainder remainder_;
  int64_t buffer_bytes_ = 1;
  int64_t runs_max_ = 1;
  std::vector<Worker> workers_;
  std::vector<Consumer> consumers_;
  lanes::Rest whole_;
  lanes::Rest rest_;  // What this incarnation began with.
  lanes::KnownLanes known_;
  std::map<int64_t, int64_t> placed_;  // Lane to worker.
  int64_t incarnation_ = 0;
  int64_t next_reader_ = 0;
  int64_t next_token_ = 0;

  struct Who {
    int64_t incarnation, consumer, worker;
  };

  std::map<ReaderId, Who> readers_;
};

TEST(FixedDeliveryTest, IsThePlainLoopWhateverHappens) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(base::StrCat("seed ", seed));
    Cluster(seed).Run();
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace millrace::delivery
