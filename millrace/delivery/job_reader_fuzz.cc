// Drives a consumer's side of a job, in both orders, with news of a dispatcher and
// messages of workers that may be anything. An error ends it; nothing else does. Each
// block is dropped or used up once, and only what is held is taken.

#include "millrace/delivery/job_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/drawn_test.h"
#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/ids.h"
#include "millrace/delivery/any_reader.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"

namespace millrace::delivery {
namespace {

constexpr int64_t kLanes = 3;
constexpr int64_t kRows = 5;  // Of each lane.
constexpr int64_t kBatchRows = 2;
constexpr int64_t kTracks = 2;
constexpr int64_t kWorkers = 2;
constexpr int kStepsMax = 512;

class World {
 public:
  explicit World(api::Drawn& drawn)
      : drawn_(drawn),
        any_(drawn.Half()),
        counted_(drawn.Half()),
        consumers_(1 + drawn.Below(2)),
        how_(drawn.Below(6)),
        job_({.counted = counted_, .credit_bytes = 64}) {
    job_.Begin(Pass(0));
  }

  // False: an error has ended it.
  bool Step() {
    constexpr auto kSteps = std::to_array<absl::Status (World::*)()>(
        {&World::Hear, &World::Hear, &World::Receive, &World::Receive, &World::Receive,
         &World::Take, &World::Take, &World::Lose, &World::GoOn, &World::Tell});
    const absl::Status status = (this->*kSteps[drawn_.Below(kSteps.size())])();
    DoActions();
    return status.ok();
  }

 private:
  struct Wanted {
    WorkerId worker = {};
    api::Want want;
  };

  // --- Passes ---

  std::vector<int64_t> LaneRows() const {
    return std::vector<int64_t>(kLanes, counted_ ? kRows : lanes::kRowsMax);
  }

  BegunPass Pass(int64_t number) const {
    if (any_) {
      AnyReaderOptions options{.pass = number};
      options.batching.rows = kBatchRows;
      options.visit = static_cast<Visit>(how_ % 3);
      options.endless = how_ >= 3 && !counted_;
      options.batch_bytes = 1;
      const api::PassFacts facts{
          .pass = number, .lanes = kLanes, .batch_rows = kBatchRows};
      return {std::make_unique<AnyReader>(options, LaneRows()), facts};
    }
    FixedReaderOptions options{.pass = number, .consumers = consumers_};
    options.global_batch = how_ >= 3;
    options.remainder = static_cast<Remainder>(how_ % 3);
    options.batching.rows = kBatchRows;
    options.counted = counted_;
    options.batch_bytes = 1;
    const lanes::Rest rest = lanes::DealAll(LaneRows(), kTracks);
    return {std::make_unique<FixedReader>(options, rest, rest)};
  }

  absl::Status GoOn() {
    if (const std::optional<int64_t> ahead = job_.wants_pass())
      job_.Begin(Pass(*ahead));
    if (drawn_.Below(8) == 0) job_.StartOver(Pass(job_.pass()));
    if (job_.current().ready() != PassReader::Ready::kEnd) return absl::OkStatus();
    const int64_t next = job_.pass() + 1;
    if (!job_.has_begun(next)) job_.Begin(Pass(next));
    job_.GoTo(next);
    return absl::OkStatus();
  }

  // --- The dispatcher ---

  api::PassNews NewsOf(int64_t pass) {
    api::PassNews news{.pass = pass};
    const int64_t lanes = 1 + drawn_.Below(kLanes);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t end = counted_ ? kRows : lanes::kRowsMax;
      news.rights.push_back({lane + 1, lane, 0, end});
    }
    news.leased = lanes == kLanes;
    news.horizon = drawn_.Below(8);
    news.final = drawn_.Below(4) == 0;
    news.fill = drawn_.Below(3) - 1;
    news.give_rows = drawn_.Below(3);
    if (drawn_.Half()) news.asks.push_back({1, drawn_.Below(3)});
    return news;
  }

  absl::Status Hear() {
    api::ConsumerNews news{.version = ++version_};
    for (const LaneNeed& need : job_.Needs()) {
      news.placed.push_back({need.at, drawn_.Below(kWorkers + 1) - 1});
    }
    if (drawn_.Half()) {
      news.known.push_back({{job_.pass(), drawn_.Below(kLanes)}, kRows, drawn_.Half()});
    }
    if (any_) news.passes.push_back(NewsOf(job_.pass() + drawn_.Below(2)));
    news.passes_over = drawn_.Below(3);
    drawn_.Change(news);
    return job_.OnNews(news);
  }

  // --- Workers ---

  // The rows of a want that there are, or that there are none.
  static api::WorkerMessage Answer(api::Want& want) {
    api::WorkerMessage message;
    if (want.begin >= kRows) {
      message.end = api::LaneEnd{want.at, kRows};
      want.begin = want.end;
      return message;
    }
    const int64_t end = std::min({want.end, kRows, want.begin + kBatchRows});
    message.batch = api::BatchHead{want.at, want.begin, end};
    message.batch->bytes = end - want.begin;
    message.batch->tail = end - want.begin < kBatchRows;
    want.begin = end;
    return message;
  }

  absl::Status Receive() {
    if (wanted_.empty()) return absl::OkStatus();
    const auto chosen =
        wanted_.begin() + drawn_.Below(std::min<int64_t>(std::ssize(wanted_), 256));
    const WorkerId worker = chosen->worker;
    api::WorkerMessage message = Answer(chosen->want);
    if (drawn_.Below(16) == 0) message = {.failure = api::LaneFailure{chosen->want.at}};
    if (chosen->want.begin >= chosen->want.end) wanted_.erase(chosen);
    drawn_.Change(message);
    const auto token = base::MakeId<Token>(tokens_++);
    if (message.batch) held_.insert(token);
    return job_.OnWorker(worker, message, token);
  }

  absl::Status Lose() {
    const auto worker = base::MakeId<WorkerId>(drawn_.Below(kWorkers));
    std::erase_if(wanted_, [&](const Wanted& one) { return one.worker == worker; });
    job_.OnWorkerGone(worker);
    return absl::OkStatus();
  }

  // --- The training loop ---

  absl::Status Take() {
    if (job_.current().ready() != PassReader::Ready::kBatch) return absl::OkStatus();
    const TakenBatch batch = job_.Take();
    CHECK_LE(batch.slice_begin, batch.slice_end);
    CHECK(!batch.parts.empty() || batch.slice_begin == batch.slice_end);
    CHECK_LE(batch.valid, batch.slice_end - batch.slice_begin);
    for (const BatchPart& part : batch.parts) {
      CHECK(held_.contains(part.token));
      CHECK_GE(part.skip, 0);
      CHECK_GT(part.rows, 0);
    }
    for (const BatchPart& part : batch.parts) {
      if (part.last_use) CHECK_EQ(held_.erase(part.token), 1);
    }
    return absl::OkStatus();
  }

  absl::Status Tell() {
    (void)job_.Beat();
    (void)job_.settled();
    (void)job_.current().waits_for();
    lanes::State state;
    state.lanes = kLanes;
    state.order = {any_ ? lanes::OrderKind::kAny : lanes::OrderKind::kFixed,
                   any_ ? 1 : kTracks};
    job_.current().WriteState(state);
    return absl::OkStatus();
  }

  void DoActions() {
    for (const ReaderAction& action : job_.TakeActions()) {
      if (const auto* const drop = std::get_if<Drop>(&action)) {
        CHECK_EQ(held_.erase(drop->token), 1);
        continue;
      }
      const auto& send = std::get<SendWants>(action);
      for (const api::LaneAddress& at : send.message.forget) {
        std::erase_if(wanted_, [&](const Wanted& one) {
          return one.worker == send.worker && one.want.at == at;
        });
      }
      for (const api::Want& want : send.message.wants) {
        CHECK_LE(0, want.begin);
        CHECK_LT(want.begin, want.end);
        CHECK_LE(want.batch, want.begin);
        wanted_.push_back({send.worker, want});
      }
    }
  }

  api::Drawn& drawn_;
  const bool any_;
  const bool counted_;
  const int64_t consumers_;
  const int64_t how_;  // Visit or remainder; endless passes, or global batches.
  JobReader job_;
  int64_t version_ = 0;
  std::vector<Wanted> wanted_;
  std::set<Token> held_;
  int64_t tokens_ = 0;
};

}  // namespace
}  // namespace millrace::delivery

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millrace::api::Drawn drawn(data, size, {"", "d1", "d2"});
  millrace::delivery::World world(drawn);
  for (int step = 0; step < millrace::delivery::kStepsMax && !drawn.empty(); ++step) {
    if (!world.Step()) break;
  }
  return 0;
}
