// Drives a dispatcher with requests of all kinds: as consumers and workers send them,
// and with numbers, words and lists that nobody should. Nothing of it may crash or make
// more than a bounded number of events, and replaying the journal gives the same state.

#include "millrace/control/dispatcher.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/api/drawn_test.h"
#include "millrace/api/error.h"
#include "millrace/api/operations.h"
#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/control/events.h"
#include "millrace/control/state.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/state.h"

namespace millrace::control {
namespace {

constexpr int64_t kLanes = 3;
constexpr int64_t kWorkers = 3;
constexpr int kStepsMax = 256;
constexpr int64_t kEventsMax = 1 << 17;  // That one request may make.

constexpr auto kVisits =
    std::to_array<std::string_view>({"exactly_once", "at_most_once", "at_least_once"});
constexpr auto kRemainders = std::to_array<std::string_view>({"drop", "pad", "keep"});

std::string StateText(lanes::OrderKind kind, int64_t lanes) {
  lanes::State state;
  state.lanes = lanes;
  state.order = {kind, 1};
  if (kind == lanes::OrderKind::kAny) state.finished.Add(0, 1);
  return api::StateToJson(state);
}

std::vector<std::string> Words() {
  std::vector<std::string> words = {
      "",      "a",      "b",      "train", "any",    "fixed",  "static",     "off",
      "local", "remote", "host 1", "gpu",   "python", "3.11.2", "unavailable"};
  for (const std::string_view word : kVisits) words.emplace_back(word);
  for (const std::string_view word : kRemainders) words.emplace_back(word);
  for (const int64_t lanes : {kLanes, int64_t{-1}, int64_t{1} << 40}) {
    words.push_back(StateText(lanes::OrderKind::kAny, lanes));
    words.push_back(StateText(lanes::OrderKind::kFixed, lanes));
  }
  return words;
}

// One consumer, as far as it knows.
struct Reader {
  api::ReaderHello hello = {};
  bool counted = false;
  int64_t beats = 0;
  int64_t pass = 0;
  api::ConsumerNews news = {};
};

class World {
 public:
  explicit World(api::Drawn& drawn) : drawn_(drawn) { StartJobs(); }

  void Step() {
    constexpr auto kSteps = std::to_array<void (World::*)()>(
        {&World::Open, &World::OpenAll, &World::BeatConsumer, &World::BeatConsumer,
         &World::BeatConsumer, &World::BeatWorker, &World::BeatWorker, &World::Wait,
         &World::Restart, &World::Ask});
    (this->*kSteps[drawn_.Below(kSteps.size())])();
  }

 private:
  // Two jobs: what they are is drawn.
  void StartJobs() {
    for (const std::string name : {"a", "b"}) {
      api::JobSettings& settings = settings_.emplace_back();
      settings.name = name;
      settings.pipeline = "hash";
      settings.order = drawn_.Half() ? "any" : "fixed";
      settings.consumers = 1 + drawn_.Below(3);
      settings.remainder = kRemainders[drawn_.Below(kRemainders.size())];
      if (settings.order == "any") {
        settings.visit = kVisits[drawn_.Below(kVisits.size())];
      }
      counted_.push_back(drawn_.Half());
    }
  }

  // Sends a request as the loop around a dispatcher does, and keeps its events.
  template <typename Request>
  auto Send(const Request& request) {
    auto reply = Handle(request);
    dispatcher_->Place(now_);
    (void)dispatcher_->TakeNotices();
    std::vector<std::string> events = dispatcher_->TakeEvents();
    CHECK_LE(std::ssize(events), kEventsMax);
    std::ranges::move(events, std::back_inserter(journal_));
    return reply;
  }

  auto Handle(const api::OpenJob& open) { return dispatcher_->Open(open, now_); }

  template <typename Beat>
  auto Handle(const Beat& beat) {
    const auto reply = dispatcher_->Beat(beat, now_);
    (void)dispatcher_->HasNewsFor(beat);
    (void)dispatcher_->NewsFor(beat);
    return reply;
  }

  api::OpenJob Opening(int64_t job, int64_t consumer) const {
    api::OpenJob open{.settings = settings_[job], .run = {"run", 0, "host 1"}};
    open.consumer = consumer;
    open.opening = openings_;
    return open;
  }

  void SendOpening(int64_t job, const api::OpenJob& open) {
    const absl::StatusOr<api::OpenedJob> opened = Send(open);
    if (!opened.ok() || !opened->ready) return;
    CHECK_GE(opened->tracks, 1);
    Reader& reader = readers_[{job, open.consumer}];
    reader = {.counted = counted_[job]};
    reader.hello = {opened->job, opened->incarnation, open.consumer, open.member,
                    opened->generation};
  }

  void Open() {
    const int64_t job = drawn_.Below(std::ssize(settings_));
    if (drawn_.Half()) ++openings_;
    api::OpenJob open = Opening(job, drawn_.Below(settings_[job].consumers));
    drawn_.Change(open);
    SendOpening(job, open);
  }

  // A worker lists sources in between.
  void OpenAll() {
    const int64_t job = drawn_.Below(std::ssize(settings_));
    ++openings_;
    for (const bool again : {false, true}) {
      if (again) ListJobs();
      for (int64_t i = 0; i < settings_[job].consumers; ++i) {
        SendOpening(job, Opening(job, i));
      }
    }
  }

  static api::WorkerFacts Facts(int64_t worker) {
    return {.worker = worker, .address = "a:1", .host = "host 1", .lanes_max = 4};
  }

  void ListJobs() {
    Send(api::WorkerBeat{.worker = 1, .facts = Facts(1)}).IgnoreError();
    const absl::StatusOr<api::WorkerNews> news = Send(api::WorkerBeat{.worker = 1});
    if (news.ok()) Send(Listing(1, *news)).IgnoreError();
  }

  api::WorkerBeat Listing(int64_t worker, const api::WorkerNews& news) const {
    api::WorkerBeat beat{.worker = worker};
    for (const api::WorkerJob& job : news.jobs) {
      if (!job.manifest.empty()) continue;
      const bool counted = counted_[job.job % std::ssize(counted_)];
      beat.listed.push_back({.job = job.job,
                             .facts = {.manifest = "sha",
                                       .lanes = kLanes,
                                       .counted = counted,
                                       .batch_rows = 2}});
    }
    return beat;
  }

  // --- Consumers ---

  api::LaneAddress Lane(const Reader& reader) {
    return {reader.pass, drawn_.Below(kLanes)};
  }

  api::PassFacts FactsOf(const Reader& reader) {
    api::PassFacts facts{.pass = reader.pass, .lanes = kLanes, .batch_rows = 2};
    if (reader.counted) facts.rows = {{.lanes = kLanes, .rows = 5}};
    return facts;
  }

  void AddRight(const api::Right& right, api::PassBeat& beat) {
    const int64_t row = right.begin + drawn_.Below(6);
    const int64_t end = std::min(right.end, row + 1 + drawn_.Below(4));
    switch (drawn_.Below(6)) {
      case 0:
        return beat.finished.push_back({right.number, row});
      case 1:
        return beat.received.push_back({right.number, row});
      case 2:
        return beat.redo.push_back({right.number, row});
      case 3:
        return beat.promises.push_back({right.number, row, end, drawn_.Below(5) - 2});
      default:
        return;
    }
  }

  api::PassBeat AboutPass(const Reader& reader) {
    api::PassBeat beat{.pass = reader.pass, .facts = FactsOf(reader)};
    for (const api::PassNews& news : reader.news.passes) {
      if (news.pass != reader.pass) continue;
      for (const api::Right& right : news.rights) AddRight(right, beat);
    }
    beat.hungry = drawn_.Half();
    return beat;
  }

  void BeatConsumer() {
    if (readers_.empty()) return;
    Reader& reader =
        std::next(readers_.begin(), drawn_.Below(std::ssize(readers_)))->second;
    if (drawn_.Below(8) == 0) ++reader.pass;
    api::ConsumerBeat beat{.reader = reader.hello};
    beat.number = ++reader.beats;
    beat.version = reader.news.version;
    beat.pass = reader.pass;
    for (int64_t needs = drawn_.Below(4); needs > 0; --needs) {
      beat.needs.push_back({Lane(reader), drawn_.Below(4), drawn_.Half()});
    }
    if (drawn_.Half()) beat.waits_for = Lane(reader);
    if (drawn_.Half()) beat.known.push_back({Lane(reader), drawn_.Below(6), true});
    if (drawn_.Half()) beat.passes.push_back(AboutPass(reader));
    drawn_.Change(beat);
    const absl::StatusOr<api::ConsumerNews> news = Send(beat);
    if (news.ok()) reader.news = *news;
  }

  // --- Workers ---

  void BeatWorker() {
    const int64_t worker = 1 + drawn_.Below(kWorkers);
    api::WorkerNews& news = worker_news_[worker];
    api::WorkerBeat beat = Listing(worker, news);
    if (news.version == 0 || drawn_.Below(8) == 0) beat.facts = Facts(worker);
    for (const api::AssignedLane& lane : news.assigned) {
      if (drawn_.Half()) continue;
      const int64_t rows = drawn_.Below(6);
      beat.lanes.push_back(
          {lane.job, lane.incarnation, lane.at, rows, drawn_.Half(), drawn_.Half()});
      if (drawn_.Below(8) == 0) beat.lanes.back().failed = api::Error{"internal", "x"};
    }
    drawn_.Change(beat);
    const absl::StatusOr<api::WorkerNews> reply = Send(beat);
    if (reply.ok()) news = *reply;
  }

  // --- What else happens ---

  void Wait() {
    constexpr auto kTimes =
        std::to_array<int64_t>({1, 300, 1'000, 5'000, 60'000, 3'600'000, 90'000'000});
    now_ += absl::Milliseconds(kTimes[drawn_.Below(kTimes.size())]);
  }

  // From the journal, or from a snapshot, there comes the same.
  void Restart() {
    State replayed;
    for (const std::string& line : journal_) {
      CHECK(replayed.Apply(FromLine(line).value()).ok()) << line;
    }
    CHECK(replayed == dispatcher_->state());
    const std::string snapshot = replayed.Snapshot();
    CHECK(State::FromSnapshot(snapshot).value() == replayed) << snapshot;
    dispatcher_ = std::make_unique<Dispatcher>(DispatcherOptions(), 7);
    const absl::Status restored = drawn_.Half()
                                      ? dispatcher_->Restore(snapshot, {}, now_)
                                      : dispatcher_->Restore("", journal_, now_);
    CHECK(restored.ok()) << restored;
    std::ranges::move(dispatcher_->TakeEvents(), std::back_inserter(journal_));
  }

  void Ask() {
    (void)dispatcher_->Tell(api::GetStatus(), now_);
    (void)dispatcher_->Tell(api::ListJobs(), now_);
    (void)dispatcher_->Tell(api::ListWorkers(), now_);
  }

  api::Drawn& drawn_;
  std::unique_ptr<Dispatcher> dispatcher_ =
      std::make_unique<Dispatcher>(DispatcherOptions(), 7);
  std::vector<std::string> journal_;
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  std::vector<api::JobSettings> settings_;
  std::vector<bool> counted_;  // By job, as their settings.
  int64_t openings_ = 1;
  std::map<std::pair<int64_t, int64_t>, Reader> readers_;  // By job and consumer.
  std::map<int64_t, api::WorkerNews> worker_news_;
};

}  // namespace
}  // namespace millrace::control

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> words = millrace::control::Words();
  millrace::api::Drawn drawn(data, size, words);
  millrace::control::World world(drawn);
  for (int step = 0; step < millrace::control::kStepsMax && !drawn.empty(); ++step) {
    world.Step();
  }
  return 0;
}
