#include "millrace/client/consumer.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/error.h"
#include "millrace/api/json.h"
#include "millrace/api/route.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/api/stream.h"
#include "millrace/base/clock.h"
#include "millrace/base/ids.h"
#include "millrace/base/mutex.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/client/job_pass.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/transport/channel.h"

namespace millrace::client {
namespace {

constexpr int64_t kPollMs = 500;  // The dispatcher is heard of at least that often.
constexpr int64_t kOpenPollMs = 5000;

using delivery::FixedReader;

delivery::Remainder RemainderOf(const std::string& word) {
  if (word == "pad") return delivery::Remainder::kPad;
  return word == "keep" ? delivery::Remainder::kKeep : delivery::Remainder::kDrop;
}

// A name that no other process has: the run of who reads alone, without a launcher.
const std::string& ProcessName() {
  static const std::string* const name = new std::string(
      base::StrCat("process-", std::random_device{}(), "-", std::random_device{}()));
  return *name;
}

absl::StatusOr<http::Address> AddressOf(const std::string& text) {
  const size_t colon = text.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port)) {
    return absl::InvalidArgumentError(base::StrCat("no such address: ", text));
  }
  return http::Address{text.substr(0, colon), port};
}

}  // namespace

class Consumer::Process {
 public:
  Process(rewrite::Rewritten pipeline, const ConsumerOptions& options)
      : options_(options),
        library_(options.library == nullptr ? ops::DefaultLibrary() : *options.library),
        engine_({.threads = 1, .meters = false}),
        pipeline_(std::move(pipeline)) {}

  // Who calls back meanwhile changes nothing any more, and nobody does after it.
  ~Process() {
    Cancel();
    client_.reset();
  }

  absl::Status Open();
  absl::StatusOr<std::optional<core::Block>> Next(absl::Time deadline);
  void Cancel();
  lanes::State state() const;

 private:
  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Ask(const char* path, const Request& request);

  absl::Status OpenJob(const std::string& pipeline);
  absl::StatusOr<std::unique_ptr<JobPass>> PlanPass(int64_t pass);
  void BeginPass(std::unique_ptr<JobPass> pass, const lanes::Rest& rest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::optional<core::Block>> EndPass();

  api::ReaderHello hello() const;
  api::ConsumerBeat Beat() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Poll(int64_t wait_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnNews(const absl::StatusOr<http::Response>& response, bool again);
  absl::Status Take(const api::ConsumerNews& news)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Urge() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Act() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(delivery::WorkerId worker, const api::ReaderMessage& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<transport::Channel> Connect(delivery::WorkerId worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnWorker(delivery::WorkerId worker, transport::Received received);
  void OnWorkerGone(delivery::WorkerId worker, int64_t connection);
  absl::Status Take(delivery::WorkerId worker, transport::Received received)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Connection {
    std::shared_ptr<transport::Channel> channel;
    int64_t number = 0;
  };

  const ConsumerOptions options_;
  const ops::Library& library_;
  exec::Engine engine_;  // Plans passes, joins tails; runs nothing.
  rewrite::Rewritten pipeline_;
  api::OpenedJob job_;
  std::string listing_;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  int64_t pass_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<JobPass> plan_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<FixedReader> reader_ ABSL_GUARDED_BY(mutex_);
  std::map<delivery::Token, core::Buffer> held_ ABSL_GUARDED_BY(mutex_);
  std::map<delivery::WorkerId, http::Address> addresses_ ABSL_GUARDED_BY(mutex_);
  std::map<delivery::WorkerId, Connection> connections_ ABSL_GUARDED_BY(mutex_);
  std::set<api::LaneAddress> urged_ ABSL_GUARDED_BY(mutex_);
  int64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_token_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_connection_ ABSL_GUARDED_BY(mutex_) = 0;
  bool tell_known_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failed_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<http::Client> client_;
};

// --- Opening ---

template <typename Reply, typename Request>
absl::StatusOr<Reply> Consumer::Process::Ask(const char* path, const Request& request) {
  const http::Response response = TRY(client_->CallAndWait(
      {.address = options_.dispatcher, .path = path, .body = api::ToJson(request)}));
  return api::FromJson<Reply>(response.body);
}

absl::Status Consumer::Process::Open() {
  client_ = TRY(http::Client::Make(options_.client));
  const ir::PipelineText text = ir::Print(pipeline_.before);
  if (!text.attachments.all().empty()) {
    return absl::UnimplementedError(
        "a pipeline with arrays or functions of its own cannot be read from a service "
        "yet");
  }
  const std::string hash = base::ToHex(base::Sha256Of(text.text));
  TRY(Ask<api::Nothing>("/v1/objects", api::PutObject{hash, text.text}).status());
  TRY(OpenJob(hash));
  listing_ =
      TRY(Ask<api::Object>("/v1/objects/get", api::GetObject{job_.facts.manifest}))
          .text;
  int64_t pass = 0;
  std::optional<lanes::State> state;
  if (!job_.state.empty()) state = TRY(api::StateFromJson(job_.state));
  if (state) pass = state->pass;
  std::unique_ptr<JobPass> plan = TRY(PlanPass(pass));
  const lanes::Rest rest = state ? TRY(plan->Left(*state)) : plan->Whole();
  const base::MutexLock lock(&mutex_);
  pass_ = pass;
  BeginPass(std::move(plan), rest);
  Poll(kPollMs);
  return absl::OkStatus();
}

absl::Status Consumer::Process::OpenJob(const std::string& pipeline) {
  api::OpenJob open{.settings = options_.settings, .run = options_.run};
  const bool alone = options_.settings.consumers * options_.settings.members == 1;
  if (alone && open.run.id.empty()) open.run.id = ProcessName();
  open.settings.pipeline = pipeline;
  open.consumer = options_.consumer;
  open.member = options_.member;
  open.opening = absl::ToUnixMillis(base::RealClock().Now());
  open.takeover = options_.takeover;
  if (options_.state) open.state = api::StateToJson(*options_.state);
  const absl::Time deadline = base::RealClock().Now() + options_.open_within;
  while (true) {
    const absl::Duration left = deadline - base::RealClock().Now();
    open.wait_ms = std::clamp<int64_t>(absl::ToInt64Milliseconds(left), 0, kOpenPollMs);
    job_ = TRY(Ask<api::OpenedJob>("/v1/jobs/open", open));
    if (job_.ready) return absl::OkStatus();
    if (base::RealClock().Now() < deadline) continue;
    return absl::DeadlineExceededError(base::StrCat("job \"", options_.settings.name,
                                                    "\" waits for ", job_.waits_for));
  }
}

absl::StatusOr<std::unique_ptr<JobPass>> Consumer::Process::PlanPass(int64_t pass) {
  return JobPass::Plan(engine_, {&pipeline_, &library_, &job_, listing_}, pass);
}

void Consumer::Process::BeginPass(std::unique_ptr<JobPass> plan,
                                  const lanes::Rest& rest) {
  plan_ = std::move(plan);
  delivery::FixedReaderOptions options{.pass = pass_};
  options.consumers = options_.settings.consumers;
  options.consumer = options_.consumer;
  options.global_batch = options_.settings.global_batch;
  options.batching = plan_->batching();
  options.remainder = RemainderOf(options_.settings.remainder);
  options.counted = plan_->counted();
  options.credit_bytes = options_.credit_bytes;
  reader_ = std::make_unique<FixedReader>(options, rest, plan_->Whole());
  held_.clear();
  Act();
}

// --- The training loop ---

absl::StatusOr<std::optional<core::Block>> Consumer::Process::Next(
    absl::Time deadline) {
  ReceivedBatch received;
  std::shared_ptr<JobPass> plan;
  {
    const base::MutexLock lock(&mutex_);
    while (failed_.ok() && reader_->ready() == FixedReader::Ready::kWait) {
      if (!changed_.WaitUntil(&mutex_, deadline)) {
        return absl::DeadlineExceededError("no batch is ready yet");
      }
    }
    TRY(absl::Status(failed_));
    plan = plan_;
    if (reader_->ready() == FixedReader::Ready::kBatch) {
      const delivery::TakenBatch taken = reader_->Take();
      received = {{}, taken.rows, taken.slice_begin, taken.slice_end};
      for (const delivery::BatchPart& part : taken.parts) {
        received.parts.push_back({held_.at(part.token), part});
        if (part.last_use) held_.erase(part.token);
      }
      Act();
    }
  }
  // Of a last batch of few rows there may be none for this consumer.
  if (received.slice_begin == received.slice_end) return EndPass();
  return TRY(plan->BatchOf(received));
}

absl::StatusOr<std::optional<core::Block>> Consumer::Process::EndPass() {
  int64_t pass = 0;
  {
    const base::MutexLock lock(&mutex_);
    pass = pass_ + 1;
  }
  std::unique_ptr<JobPass> plan = TRY(PlanPass(pass));
  const lanes::Rest whole = plan->Whole();
  const base::MutexLock lock(&mutex_);
  pass_ = pass;
  BeginPass(std::move(plan), whole);
  return std::nullopt;
}

void Consumer::Process::Cancel() {
  const base::MutexLock lock(&mutex_);
  Fail(absl::CancelledError("the job was left"));
}

lanes::State Consumer::Process::state() const {
  const base::MutexLock lock(&mutex_);
  return plan_->StateOf(reader_->rest());
}

void Consumer::Process::Fail(const absl::Status& status) {
  if (failed_.ok()) failed_ = status;
  changed_.NotifyAll();
}

// --- The dispatcher ---

api::ReaderHello Consumer::Process::hello() const {
  return {job_.job,        job_.incarnation, options_.consumer,
          options_.member, job_.generation,  options_.settings.members};
}

api::ConsumerBeat Consumer::Process::Beat() const {
  api::ConsumerBeat beat{.reader = hello(), .version = version_, .pass = pass_};
  beat.taken = reader_->taken();
  for (const delivery::LaneNeed& need : reader_->Needs()) {
    beat.needs.push_back({need.at, need.from, need.now});
    if (!tell_known_) continue;
    const lanes::KnownLane known = reader_->known().Get(need.at.lane);
    if (known.rows > 0 || known.ended) {
      beat.known.push_back({need.at, known.rows, known.ended});
    }
  }
  return beat;
}

// Asks for news, waiting for them; again and again where they are waited for.
void Consumer::Process::Poll(int64_t wait_ms) {
  api::ConsumerBeat beat = Beat();
  beat.wait_ms = wait_ms;
  client_->Start({.address = options_.dispatcher,
                  .path = "/v1/consumers/beat",
                  .body = api::ToJson(beat)},
                 [this, again = wait_ms > 0](absl::StatusOr<http::Response> response) {
                   OnNews(response, again);
                 });
}

void Consumer::Process::OnNews(const absl::StatusOr<http::Response>& response,
                               bool again) {
  const base::MutexLock lock(&mutex_);
  if (!failed_.ok()) return;
  if (response.ok()) {
    const absl::StatusOr<api::ConsumerNews> news =
        api::FromJson<api::ConsumerNews>(response->body);
    const absl::Status taken = news.ok() ? Take(*news) : news.status();
    if (!taken.ok()) return Fail(taken);
  } else if (absl::IsFailedPrecondition(response.status()) ||
             absl::IsNotFound(response.status())) {
    return Fail(response.status());  // Another run has the job, or nobody.
  } else if (absl::IsCancelled(response.status())) {
    return;
  }
  if (again) Poll(kPollMs);
}

absl::Status Consumer::Process::Take(const api::ConsumerNews& news) {
  if (!news.failed_code.empty()) return api::ToStatus(news.failed_code, news.failed);
  if (news.version < version_) return absl::OkStatus();  // It overtook another.
  version_ = news.version;
  tell_known_ = news.tell_known;
  for (const api::WorkerPlace& place : news.workers) {
    addresses_[base::MakeId<delivery::WorkerId>(place.worker)] =
        TRY(AddressOf(place.address));
  }
  for (const api::PlacedLane& placed : news.placed) {
    if (placed.at.pass != pass_) continue;
    std::optional<delivery::WorkerId> worker;
    if (placed.worker >= 0) worker = base::MakeId<delivery::WorkerId>(placed.worker);
    reader_->OnPlaced(placed.at.lane, worker);
  }
  for (const api::KnownRows& known : news.known) {
    if (known.at.pass != pass_) continue;
    TRY(reader_->OnKnown(known.at.lane, {known.rows, known.ended}));
  }
  Act();
  return absl::OkStatus();
}

// Lanes that are needed now and that nobody runs are told at once, but once each.
void Consumer::Process::Urge() {
  std::set<api::LaneAddress> unplaced;
  for (const delivery::LaneNeed& need : reader_->Needs()) {
    if (!need.placed) unplaced.insert(need.at);
  }
  const bool more = !std::ranges::includes(urged_, unplaced);
  urged_ = std::move(unplaced);
  if (more) Poll(0);
}

// --- Workers ---

void Consumer::Process::Act() {
  for (delivery::ReaderAction& action : reader_->TakeActions()) {
    if (const auto* send = std::get_if<delivery::SendWants>(&action)) {
      Send(send->worker, send->message);
    } else {
      held_.erase(std::get<delivery::Drop>(action).token);
    }
  }
  Urge();
  changed_.NotifyAll();
}

void Consumer::Process::Send(delivery::WorkerId worker,
                             const api::ReaderMessage& message) {
  const auto found = connections_.find(worker);
  const std::shared_ptr<transport::Channel> channel =
      found == connections_.end() ? Connect(worker) : found->second.channel;
  channel->Send({.head = api::ToJson(message)});
}

std::shared_ptr<transport::Channel> Consumer::Process::Connect(
    delivery::WorkerId worker) {
  const int64_t number = next_connection_++;
  transport::ChannelEvents events;
  events.on_message = [this, worker](transport::Received received) {
    OnWorker(worker, std::move(received));
  };
  events.on_closed = [this, worker, number](const absl::Status&) {
    OnWorkerGone(worker, number);
  };
  std::shared_ptr<transport::Channel> channel = client_->OpenChannel(
      {.address = addresses_[worker], .path = "/v1/stream"}, std::move(events));
  connections_[worker] = {channel, number};
  api::ReaderMessage first;
  first.hello = hello();
  channel->Send({.head = api::ToJson(first)});
  return channel;
}

void Consumer::Process::OnWorker(delivery::WorkerId worker,
                                 transport::Received received) {
  const base::MutexLock lock(&mutex_);
  if (!failed_.ok()) return;
  const absl::Status taken = Take(worker, std::move(received));
  if (!taken.ok()) Fail(taken);
}

absl::Status Consumer::Process::Take(delivery::WorkerId worker,
                                     transport::Received received) {
  const api::WorkerMessage message =
      TRY(api::FromJson<api::WorkerMessage>(received.head));
  if (message.batch) {
    const auto token = base::MakeId<delivery::Token>(next_token_++);
    held_[token] = std::move(received.payload);
    TRY(reader_->OnBatch(*message.batch, token));
  }
  if (message.end) TRY(reader_->OnEnd(*message.end));
  if (message.failure) reader_->OnFailed(worker, message.failure->at.lane);
  if (message.refused) return absl::FailedPreconditionError(*message.refused);
  Act();
  return absl::OkStatus();
}

void Consumer::Process::OnWorkerGone(delivery::WorkerId worker, int64_t connection) {
  const base::MutexLock lock(&mutex_);
  const auto found = connections_.find(worker);
  if (found == connections_.end() || found->second.number != connection) return;
  connections_.erase(found);
  if (!failed_.ok()) return;
  reader_->OnWorkerGone(worker);
  Act();
}

// --- The face ---

Consumer::Consumer(std::unique_ptr<Process> process) : process_(std::move(process)) {}

Consumer::~Consumer() = default;

absl::StatusOr<std::unique_ptr<Consumer>> Consumer::Open(
    const ir::Pipeline& pipeline, const ConsumerOptions& options) {
  const ops::Library& library =
      options.library == nullptr ? ops::DefaultLibrary() : *options.library;
  auto process = std::make_unique<Process>(
      TRY(rewrite::Rewrite(pipeline, library.catalog())), options);
  TRY(process->Open());
  return std::unique_ptr<Consumer>(new Consumer(std::move(process)));
}

absl::StatusOr<std::optional<core::Block>> Consumer::Next(absl::Time deadline) {
  return process_->Next(deadline);
}

void Consumer::Cancel() { process_->Cancel(); }

lanes::State Consumer::state() const { return process_->state(); }

}  // namespace millrace::client
