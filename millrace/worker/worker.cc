#include "millrace/worker/worker.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
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
#include "millrace/api/json.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/bounded_queue.h"
#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/exec/engine.h"
#include "millrace/frames/frame.h"
#include "millrace/ops/library.h"
#include "millrace/transport/channel.h"
#include "millrace/worker/lane_engine.h"
#include "millrace/worker/plans.h"

namespace millrace::worker {
namespace {

constexpr size_t kInboxMax = 1 << 18;
constexpr int64_t kPollMs = 500;  // The dispatcher is heard of at least that often.

using Task = std::function<void()>;

}  // namespace

// All that a worker does is done on one loop, in tasks that others post.
class Worker::Process {
 public:
  explicit Process(const WorkerOptions& options)
      : options_(options),
        engine_(options.engine),
        lanes_(
            {.runs_max = options.lanes_max, .buffer_bytes = options.lane_buffer_bytes}),
        inbox_(kInboxMax) {}

  ~Process();

  absl::Status Start();

  int port() const { return server_->port(); }

 private:
  void Post(Task task) { inbox_.TryPush(std::move(task)); }

  void Run(const std::stop_token& stop);

  // Readers.
  absl::StatusOr<transport::ChannelEvents> Accept(
      const std::shared_ptr<transport::Channel>& channel);
  void OnReader(delivery::ReaderId reader, const std::string& head);
  void Send(delivery::ReaderId reader, const api::WorkerMessage& message);
  void SendBatch(const delivery::SendBatch& batch);

  // Lanes.
  LaneEvents Events();
  void Act();
  void Do(const delivery::ServerAction& action);

  // The dispatcher.
  Objects ObjectsOfDispatcher();
  void Poll();
  void Report();
  api::WorkerBeat Beat() const;
  void Ask(const api::WorkerBeat& beat, std::function<void(bool heard)> done);
  void OnNews(const api::WorkerNews& news);
  void Assign(const api::WorkerNews& news);

  const WorkerOptions options_;
  const int64_t number_ = static_cast<int64_t>(std::random_device{}()) << 20 |
                          (std::random_device{}() & 0xfffff);
  exec::Engine engine_;
  std::unique_ptr<http::Client> client_;
  delivery::LaneServer lanes_;
  std::unique_ptr<LaneEngine> runs_;
  std::map<delivery::ReaderId, std::shared_ptr<transport::Channel>> readers_;
  std::map<delivery::JobLane, api::AssignedLane> assigned_;
  std::map<int64_t, api::WorkerJob> jobs_;
  std::map<delivery::JobLane, api::LaneReport> unreported_;
  std::vector<api::ListedJob> unlisted_;
  std::map<int64_t, bool> listing_;
  int64_t version_ = 0;
  bool join_ = true;
  bool reporting_ = false;
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
  runs_ = std::make_unique<LaneEngine>(
      engine_, std::make_unique<Plans>(engine_, library, ObjectsOfDispatcher()),
      [this](Task task) { Post(std::move(task)); }, Events());
  http::Router router;
  router.Channel(
      "/v1/stream",
      [this](const http::Request&, const std::shared_ptr<transport::Channel>& channel) {
        return Accept(channel);
      });
  server_ = TRY(http::Server::Start(options_.server, std::move(router)));
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
    absl::StatusOr<Task> task = inbox_.Pop(absl::InfiniteFuture(), stop);
    if (!task.ok()) return;
    (*task)();
    Act();
    Report();
  }
}

// --- Readers ---

absl::StatusOr<transport::ChannelEvents> Worker::Process::Accept(
    const std::shared_ptr<transport::Channel>& channel) {
  const auto reader = base::MakeId<delivery::ReaderId>(next_reader_++);
  Post([this, reader, channel] { readers_[reader] = channel; });
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
  return events;
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

void Worker::Process::SendBatch(const delivery::SendBatch& batch) {
  const auto found = readers_.find(batch.reader);
  if (found == readers_.end()) return;
  const auto encode = [&]() -> absl::StatusOr<frames::Frame> {
    const core::Block rows =
        TRY(runs_->Rows(batch.token, batch.skip, batch.head.end - batch.head.begin));
    return frames::Encode(rows, core::HeapPool(), frames::Summed::kHead);
  };
  absl::StatusOr<frames::Frame> frame = encode();
  api::WorkerMessage message;
  if (frame.ok()) {
    message.batch = batch.head;
    found->second->Send({api::ToJson(message), *std::move(frame)});
  } else {
    message.failure = api::LaneFailure{
        batch.head.at, std::string(absl::StatusCodeToString(frame.status().code())),
        std::string(frame.status().message())};
    Send(batch.reader, message);
  }
}

// --- Lanes ---

LaneEvents Worker::Process::Events() {
  return {.on_made = [this](delivery::RunId run,
                            const delivery::Made& made) { lanes_.OnMade(run, made); },
          .on_ended = [this](delivery::RunId run,
                             int64_t rows) { lanes_.OnEnded(run, rows); },
          .on_failed =
              [this](delivery::RunId run, const absl::Status& status) {
                base::Log(base::LogLevel::kWarning, "a lane failed",
                          {{"why", status.message()}});
                lanes_.OnFailed(run, status);
              },
          .on_listed =
              [this](const api::ListedJob& listed) {
                listing_.erase(listed.job);
                unlisted_.push_back(listed);
              }};
}

// Actions may cause more.
void Worker::Process::Act() {
  for (std::vector<delivery::ServerAction> actions = lanes_.TakeActions();
       !actions.empty(); actions = lanes_.TakeActions()) {
    for (const delivery::ServerAction& action : actions) Do(action);
  }
}

void Worker::Process::Do(const delivery::ServerAction& action) {
  if (const auto* start = std::get_if<delivery::StartRun>(&action)) {
    runs_->Start(*start);
  } else if (const auto* stop = std::get_if<delivery::StopRun>(&action)) {
    runs_->Stop(stop->run);
  } else if (const auto* pull = std::get_if<delivery::Pull>(&action)) {
    runs_->Pull(pull->run);
  } else if (const auto* drop = std::get_if<delivery::Drop>(&action)) {
    runs_->Drop(drop->token);
  } else if (const auto* batch = std::get_if<delivery::SendBatch>(&action)) {
    SendBatch(*batch);
  } else if (const auto* end = std::get_if<delivery::SendEnd>(&action)) {
    api::WorkerMessage message;
    message.end = end->end;
    Send(end->reader, message);
  } else if (const auto* failure = std::get_if<delivery::SendFailure>(&action)) {
    api::WorkerMessage message;
    message.failure = failure->failure;
    Send(failure->reader, message);
  } else {
    const auto& refuse = std::get<delivery::Refuse>(action);
    api::WorkerMessage message;
    message.refused = refuse.reason;
    Send(refuse.reader, message);
    const auto found = readers_.find(refuse.reader);
    if (found != readers_.end()) found->second->Close();
  }
}

// --- The dispatcher ---

Objects Worker::Process::ObjectsOfDispatcher() {
  const auto call = [this](const std::string& path, std::string body) {
    return client_->CallAndWait(
        {.address = options_.dispatcher, .path = path, .body = std::move(body)},
        ending_.get_token());
  };
  return {.get = [call](const std::string& hash) -> absl::StatusOr<std::string> {
            const http::Response response =
                TRY(call("/v1/objects/get", api::ToJson(api::GetObject{hash})));
            return TRY(api::FromJson<api::Object>(response.body)).text;
          },
          .put =
              [call](const std::string& hash, const std::string& text) {
                return call("/v1/objects", api::ToJson(api::PutObject{hash, text}))
                    .status();
              }};
}

api::WorkerBeat Worker::Process::Beat() const {
  api::WorkerBeat beat{.worker = number_, .version = version_};
  if (!join_) return beat;
  const std::string host = options_.host.empty() ? options_.server.host : options_.host;
  api::WorkerFacts facts{.worker = number_};
  facts.address = http::ToString(http::Address{host, server_->port()});
  facts.host = host;
  facts.tags = options_.tags;
  facts.lanes_max = options_.lanes_max;
  beat.facts = facts;
  for (const delivery::LaneNews& news : lanes_.AllNews()) {
    beat.lanes.push_back({news.lane.job, news.lane.incarnation, news.lane.at, news.rows,
                          news.ended, news.released, "", ""});
  }
  return beat;
}

void Worker::Process::Ask(const api::WorkerBeat& beat,
                          std::function<void(bool heard)> done) {
  client_->Start({.address = options_.dispatcher,
                  .path = "/v1/workers/beat",
                  .body = api::ToJson(beat)},
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
  api::WorkerBeat beat = Beat();
  beat.wait_ms = kPollMs;
  const bool joined = std::exchange(join_, false);
  Ask(beat, [this, joined](bool heard) {
    if (!heard) join_ = join_ || joined;
    Post([this] { Poll(); });
  });
}

// Tells at once what has happened; again, until it is heard.
void Worker::Process::Report() {
  for (const delivery::LaneNews& news : lanes_.TakeNews()) {
    api::LaneReport& report = unreported_[news.lane];
    report = {news.lane.job, news.lane.incarnation, news.lane.at, news.rows,
              news.ended,    news.released,         "",           ""};
    if (news.failed.ok()) continue;
    report.failed_code = std::string(absl::StatusCodeToString(news.failed.code()));
    report.failed = std::string(news.failed.message());
  }
  if (reporting_ || (unreported_.empty() && unlisted_.empty())) return;
  reporting_ = true;
  api::WorkerBeat beat = Beat();
  const auto reports = std::exchange(unreported_, {});
  for (const auto& [lane, report] : reports) beat.lanes.push_back(report);
  beat.listed = std::exchange(unlisted_, {});
  Ask(beat, [this, reports, listed = beat.listed](bool heard) {
    reporting_ = false;
    if (heard) return;
    for (const auto& [lane, report] : reports) unreported_.try_emplace(lane, report);
    unlisted_.insert(unlisted_.end(), listed.begin(), listed.end());
  });
}

void Worker::Process::OnNews(const api::WorkerNews& news) {
  if (news.join) {
    join_ = true;
    version_ = 0;
    return;
  }
  if (news.version < version_) return;  // It overtook another.
  version_ = news.version;
  for (const api::WorkerJob& job : news.jobs) {
    runs_->SetJob(job);
    if (job.manifest.empty() && !std::exchange(listing_[job.job], true)) {
      runs_->List(job);
    }
  }
  Assign(news);
}

void Worker::Process::Assign(const api::WorkerNews& news) {
  std::map<delivery::JobLane, api::AssignedLane> assigned;
  for (const api::AssignedLane& lane : news.assigned) {
    assigned[{lane.job, lane.incarnation, lane.at}] = lane;
  }
  for (const auto& [key, lane] : assigned_) {
    if (!assigned.contains(key)) lanes_.Unassign(key);
  }
  for (const auto& [key, lane] : assigned) {
    lanes_.Assign(key, {lane.from, lane.members, lane.now});
  }
  assigned_ = std::move(assigned);
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

}  // namespace millrace::worker
