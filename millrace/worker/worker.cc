#include "millrace/worker/worker.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/api/error.h"
#include "millrace/api/json.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/bounded_queue.h"
#include "millrace/base/clock.h"
#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/delivery/assigned_lanes.h"
#include "millrace/delivery/lane_report.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/reader_message.h"
#include "millrace/delivery/windows.h"
#include "millrace/exec/engine.h"
#include "millrace/frames/frame.h"
#include "millrace/ops/library.h"
#include "millrace/transport/channel.h"
#include "millrace/worker/facts.h"
#include "millrace/worker/lane_engine.h"
#include "millrace/worker/operations.h"
#include "millrace/worker/plans.h"
#include "millrace/worker/sharing.h"
#include "millrace/worker/window_engine.h"

namespace millrace::worker {
namespace {

constexpr size_t kInboxMax = 1 << 18;
constexpr int64_t kPollMs = 500;  // The dispatcher is heard of at least that often.
constexpr absl::Duration kSilentMax = absl::Seconds(5);  // Then it is not there.
constexpr absl::Duration kAskWithin = absl::Seconds(30);
constexpr absl::Duration kLeaveWithin =
    absl::Seconds(2);  // Who leaves waits no longer.

using Task = std::function<void()>;

}  // namespace

// All that a worker does is done on one loop, in tasks that others post.
class Worker::Process {
 public:
  explicit Process(const WorkerOptions& options)
      : options_(options),
        engine_(EngineOptionsOf(options)),
        sharing_(options, engine_),
        lanes_(
            {.runs_max = options.lanes_max, .buffer_bytes = options.lane_buffer_bytes}),
        inbox_(kInboxMax) {}

  ~Process();

  absl::Status Start();

  int port() const { return server_->port(); }

  void Ask(TakeStatus take) {
    Post([this, take = std::move(take)] { take(Status()); });
  }

  void Drain();

  // Looked at anew: time alone may change it.
  bool drained() {
    Post([] {});
    return drained_;
  }

  void Leave();

 private:
  void Post(Task task) { inbox_.TryPush(std::move(task)); }

  void Run(const std::stop_token& stop);

  WorkerStatus Status() const;

  // Readers.
  absl::StatusOr<transport::ChannelEvents> Accept(
      const std::shared_ptr<transport::Channel>& channel);
  void OnReader(delivery::ReaderId reader, const std::string& head);
  void Send(delivery::ReaderId reader, const api::WorkerMessage& message);
  void SendBatch(const delivery::SendBatch& batch, bool last_use);

  // Lanes.
  LaneEvents Events();
  void Act();
  void Do(const delivery::ServerAction& action, bool last_use);

  // The dispatcher.
  void Poll();
  void Report();
  static void LogFailure(const delivery::LaneNews& news);
  api::WorkerBeat Beat() const;
  void Ask(const api::WorkerBeat& beat, absl::Duration within,
           const std::function<void(bool heard)>& done);
  void OnNews(const api::WorkerNews& news);
  bool IsDrained() const;

  const WorkerOptions options_;
  const int64_t number_ = static_cast<int64_t>(std::random_device{}()) << 20 |
                          (std::random_device{}() & 0xfffff);
  exec::Engine engine_;
  Sharing sharing_;
  std::unique_ptr<http::Client> client_;
  delivery::LaneServer lanes_;
  std::unique_ptr<WindowEngine> runs_;
  std::map<delivery::ReaderId, std::shared_ptr<transport::Channel>> readers_;
  delivery::AssignedLanes assigned_;
  std::map<delivery::JobLane, api::LaneReport> unreported_;
  std::vector<api::LaneReport> failures_;  // Not reported: no later success hides one.
  std::vector<api::ListedJob> unlisted_;
  std::map<int64_t, bool> listing_;
  std::set<delivery::RunId> running_;
  WorkerStatus counts_;                               // What has been counted of it.
  absl::Duration heard_ = -absl::InfiniteDuration();  // The dispatcher, that knew it.
  int64_t version_ = 0;
  bool join_ = true;
  bool reporting_ = false;
  bool draining_ = false;
  bool told_draining_ = false;  // Or nobody was there to be told.
  std::atomic<bool> drained_ = false;
  std::atomic<bool> left_ = false;
  std::atomic<int64_t> next_reader_ = 0;
  std::stop_source ending_;
  base::BoundedQueue<Task> inbox_;
  std::jthread thread_;
  std::unique_ptr<http::Server> server_;
};

absl::Status Worker::Process::Start() {
  client_ = TRY(http::Client::Make(options_.client));
  const ops::Library& library =
      options_.library == nullptr ? ops::DefaultLibrary() : *options_.library;
  runs_ = std::make_unique<WindowEngine>(
      engine_,
      std::make_unique<Plans>(
          engine_, library,
          ObjectsOf(*client_, options_.dispatcher, ending_.get_token()),
          options_.allows_python ? Functions::kAllowed : Functions::kRefused),
      [this](Task task) { Post(std::move(task)); }, Events(),
      delivery::WindowOptions{options_.window_bytes});
  http::Router router;
  router.Channel(
      "/v1/stream",
      [this](const http::Request&, const std::shared_ptr<transport::Channel>& channel) {
        return Accept(channel);
      });
  AddOperations([this](TakeStatus take) { Ask(std::move(take)); }, options_.dispatcher,
                router);
  http::ServerOptions server = options_.server;
  if (!options_.advertise.host.empty()) {
    server.allowed_hosts.push_back(options_.advertise.host);
  }
  server_ = TRY(http::Server::Start(server, std::move(router)));
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  Post([this] { Poll(); });
  return absl::OkStatus();
}

// First the readers, then the loop, then what it uses.
Worker::Process::~Process() {
  if (server_ != nullptr) server_->Stop();
  ending_.request_stop();
  thread_.request_stop();
  inbox_.Cancel();
  if (thread_.joinable()) thread_.join();
  runs_.reset();
  client_.reset();
}

void Worker::Process::Run(const std::stop_token& stop) {
  while (true) {
    absl::StatusOr<Task> task = inbox_.Pop(runs_->wakes(), stop);
    if (!task.ok() && !absl::IsDeadlineExceeded(task.status())) return;
    if (task.ok()) (*task)();
    Act();
    Report();
    drained_ = IsDrained();
  }
}

WorkerStatus Worker::Process::Status() const {
  WorkerStatus status = counts_;
  status.joined = base::RealClock().Monotonic() - heard_ < kSilentMax;
  status.readers = std::ssize(readers_);
  status.lanes_assigned = std::ssize(assigned_);
  status.lanes_running = std::ssize(running_);
  status.memory_bytes = engine_.memory().used_bytes;
  status.window_bytes = runs_->window_bytes();
  return status;
}

// --- Readers ---

absl::StatusOr<transport::ChannelEvents> Worker::Process::Accept(
    const std::shared_ptr<transport::Channel>& channel) {
  const auto reader = base::MakeId<delivery::ReaderId>(next_reader_++);
  const auto writer = sharing_.WriterOver(channel);
  Post([this, reader, writer] { readers_[reader] = writer; });
  transport::ChannelEvents events;
  events.on_message = [this, reader](transport::Received received) {
    Post([this, reader, head = std::move(received.head)] { OnReader(reader, head); });
  };
  events.on_closed = [this, reader](const absl::Status&) {
    Post([this, reader] {
      readers_.erase(reader);
      lanes_.OnReaderGone(reader);
    });
  };
  return writer->Wrap(std::move(events));
}

void Worker::Process::OnReader(delivery::ReaderId reader, const std::string& head) {
  const absl::StatusOr<api::ReaderMessage> message =
      api::FromJson<api::ReaderMessage>(head);
  if (!message.ok()) {
    const auto found = readers_.find(reader);
    if (found != readers_.end()) found->second->Close();
    return;
  }
  if (message->hello) {
    lanes_.OnHello(reader, *message->hello, message->hello->members);
  }
  lanes_.OnMessage(reader, *message);
}

void Worker::Process::Send(delivery::ReaderId reader,
                           const api::WorkerMessage& message) {
  const auto found = readers_.find(reader);
  if (found != readers_.end()) found->second->Send({.head = api::ToJson(message)});
}

void Worker::Process::SendBatch(const delivery::SendBatch& batch, bool last_use) {
  const auto found = readers_.find(batch.reader);
  if (found == readers_.end()) return;
  const auto encode = [&]() -> absl::StatusOr<frames::Frame> {
    const core::Block rows =
        TRY(runs_->Rows(batch.token, batch.skip, batch.head.end - batch.head.begin));
    return frames::Encode(rows, sharing_.pool(), frames::Summed::kHead);
  };
  absl::StatusOr<frames::Frame> frame = encode();
  if (last_use) runs_->Spend(batch.token);  // So that the reader can have it alone.
  api::WorkerMessage message;
  if (frame.ok()) {
    ++counts_.batches_sent;
    counts_.bytes_sent += frame->bytes();
    message.batch = batch.head;
    found->second->Send({api::ToJson(message), *std::move(frame)});
  } else {
    message.failure = api::LaneFailure{batch.head.at, api::ToError(frame.status())};
    Send(batch.reader, message);
  }
}

// --- Lanes ---

LaneEvents Worker::Process::Events() {
  return {
      .on_made = [this](delivery::RunId run,
                        const delivery::Made& made) { lanes_.OnMade(run, made); },
      .on_ended =
          [this](delivery::RunId run, int64_t rows, const std::vector<int64_t>& tails) {
            running_.erase(run);
            lanes_.OnEnded(run, rows, tails);
          },
      .on_failed =
          [this](delivery::RunId run, const absl::Status& why) {
            running_.erase(run);
            ++counts_.lanes_failed;
            lanes_.OnFailed(run, why);
          },
      .on_skipped = [this](delivery::RunId run, int64_t begin,
                           int64_t end) { lanes_.OnSkipped(run, begin, end); },
      .on_listed =
          [this](const api::ListedJob& listed) {
            listing_.erase(listed.job);
            unlisted_.push_back(listed);
          }};
}

// Actions may cause more.
void Worker::Process::Act() {
  for (bool more = true; more;) {
    const std::vector<delivery::ServerAction> actions = lanes_.TakeActions();
    const std::vector<bool> last_uses = LastUses(actions);
    for (size_t i = 0; i < actions.size(); ++i) Do(actions[i], last_uses[i]);
    more = runs_->Act(base::RealClock().Now()) || !actions.empty();
  }
}

void Worker::Process::Do(const delivery::ServerAction& action, bool last_use) {
  if (const auto* start = std::get_if<delivery::StartRun>(&action)) {
    running_.insert(start->run);
    ++counts_.lanes_begun;
    runs_->Start(*start);
  } else if (const auto* stop = std::get_if<delivery::StopRun>(&action)) {
    running_.erase(stop->run);
    runs_->Stop(stop->run);
  } else if (const auto* pull = std::get_if<delivery::Pull>(&action)) {
    runs_->Pull(pull->run, pull->needed);
  } else if (const auto* hurry = std::get_if<delivery::Hurry>(&action)) {
    runs_->Hurry(hurry->run);
  } else if (const auto* drop = std::get_if<delivery::Drop>(&action)) {
    runs_->Drop(drop->token);
  } else if (const auto* batch = std::get_if<delivery::SendBatch>(&action)) {
    SendBatch(*batch, last_use);
  } else if (const auto told = delivery::MessageOf(action)) {
    Send(told->reader, told->message);
    const auto found = readers_.find(told->reader);
    if (told->message.refused && found != readers_.end()) found->second->Close();
  }
}

// --- The dispatcher ---

api::WorkerBeat Worker::Process::Beat() const {
  api::WorkerBeat beat{.worker = number_, .version = version_, .draining = draining_};
  if (!join_) return beat;
  beat.facts = FactsOf(options_, number_, server_->port());
  for (const delivery::LaneNews& news : lanes_.AllNews()) {
    beat.lanes.push_back(delivery::ReportOf(news));
  }
  return beat;
}

void Worker::Process::Ask(const api::WorkerBeat& beat, absl::Duration within,
                          const std::function<void(bool heard)>& done) {
  client_->Start({.address = options_.dispatcher,
                  .path = "/v1/workers/beat",
                  .body = api::ToJson(beat),
                  .within = within},
                 [this, done](const absl::StatusOr<http::Response>& response) {
                   const absl::StatusOr<api::WorkerNews> news =
                       response.ok() ? api::FromJson<api::WorkerNews>(response->body)
                                     : response.status();
                   Post([this, done, news] {
                     done(news.ok());
                     if (news.ok()) OnNews(*news);
                   });
                 });
}

// Asks for news, again and again: the heartbeat.
void Worker::Process::Poll() {
  if (left_) return;
  api::WorkerBeat beat = Beat();
  beat.wait_ms = kPollMs;
  beat.visits = runs_->Visits();
  const bool joined = std::exchange(join_, false);
  Ask(beat, kAskWithin, [this, joined](bool heard) {
    if (!heard) join_ = join_ || joined;
    Post([this] { Poll(); });
  });
}

// Tells at once what has happened; again, until it is heard.
void Worker::Process::Report() {
  for (const delivery::LaneNews& news : lanes_.TakeNews()) {
    if (news.failed.ok()) {
      unreported_[news.lane] = delivery::ReportOf(news);
    } else {
      failures_.push_back(delivery::ReportOf(news));
      LogFailure(news);
    }
  }
  const bool nothing = unreported_.empty() && failures_.empty() && unlisted_.empty();
  if (reporting_ || nothing) return;
  reporting_ = true;
  api::WorkerBeat beat = Beat();
  const auto failures = std::exchange(failures_, {});
  const auto reports = std::exchange(unreported_, {});
  beat.lanes.insert(beat.lanes.end(), failures.begin(), failures.end());
  for (const auto& [lane, report] : reports) beat.lanes.push_back(report);
  beat.listed = std::exchange(unlisted_, {});
  Ask(beat, kAskWithin, [this, failures, reports, listed = beat.listed](bool heard) {
    reporting_ = false;
    if (heard) return;
    failures_.insert(failures_.begin(), failures.begin(), failures.end());
    for (const auto& [lane, report] : reports) unreported_.try_emplace(lane, report);
    unlisted_.insert(unlisted_.end(), listed.begin(), listed.end());
  });
}

// Once, however many lanes fail in the same way and however often they are tried.
void Worker::Process::LogFailure(const delivery::LaneNews& news) {
  base::LogOnce(base::StrCat("lane of job ", news.lane.job, ", start ",
                             news.lane.incarnation, ": ", news.failed.message()),
                base::LogLevel::kWarning, "a lane failed",
                {{"job", news.lane.job},
                 {"pass", news.lane.at.pass},
                 {"lane", news.lane.at.lane},
                 {"why", news.failed}});
}

void Worker::Process::OnNews(const api::WorkerNews& news) {
  if (news.join) {
    join_ = true;
    version_ = 0;
    return;
  }
  heard_ = base::RealClock().Monotonic();
  if (news.version < version_) return;  // It overtook another.
  version_ = news.version;
  runs_->SetJobs(news.jobs);
  for (const api::WorkerJob& job : news.jobs) {
    const bool lists = job.manifest.empty();
    if (lists && !std::exchange(listing_[job.job], true)) runs_->List(job);
    lanes_.SetShare(job.job, job.share);
  }
  assigned_.Take(news.assigned, lanes_);
}

// --- Leaving ---

void Worker::Process::Drain() {
  Post([this] {
    if (std::exchange(draining_, true)) return;
    base::Log(base::LogLevel::kInfo, "worker leaves", {{"lanes", assigned_.size()}});
    Ask(Beat(), kLeaveWithin, [this](bool /*heard*/) { told_draining_ = true; });
  });
}

// What the dispatcher has dealt until it was told is taken back by and by; readers then
// forget what they wanted here. But nobody may be there to do either.
bool Worker::Process::IsDrained() const {
  if (!told_draining_) return false;
  const absl::Duration silence = base::RealClock().Monotonic() - heard_;
  if (readers_.empty() && silence > kSilentMax) return true;
  return assigned_.size() == 0 && listing_.empty() && unlisted_.empty() &&
         lanes_.idle();
}

void Worker::Process::Leave() {
  if (left_.exchange(true)) return;
  api::WorkerBeat last{.worker = number_};
  last.draining = last.left = true;
  client_
      ->CallAndWait({.address = options_.dispatcher,
                     .path = "/v1/workers/beat",
                     .body = api::ToJson(last),
                     .within = kLeaveWithin})
      .IgnoreError();
}

// --- The face ---

Worker::Worker(std::unique_ptr<Process> process) : process_(std::move(process)) {}

Worker::~Worker() = default;

absl::StatusOr<std::unique_ptr<Worker>> Worker::Start(const WorkerOptions& options) {
  auto process = std::make_unique<Process>(options);
  TRY(process->Start());
  return std::unique_ptr<Worker>(new Worker(std::move(process)));
}

int Worker::port() const { return process_->port(); }

void Worker::Ask(TakeStatus take) { process_->Ask(std::move(take)); }

void Worker::Drain() { process_->Drain(); }

bool Worker::drained() { return process_->drained(); }

void Worker::Leave() { process_->Leave(); }

}  // namespace millrace::worker
