#include "millrace/sim/cluster.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "millrace/api/operations.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/ids.h"
#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/events.h"
#include "millrace/control/state.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/sim/network.h"
#include "millrace/sim/sim_consumer.h"
#include "millrace/sim/sim_worker.h"

namespace millrace::sim {
namespace {

constexpr int64_t kStepsMax = 400'000;
constexpr int64_t kFaultySteps = 12'000;  // After which all goes well.

std::vector<int64_t> SomeLanes(base::Generator& random) {
  std::vector<int64_t> rows(random.Integer(0, 16));
  for (int64_t& lane : rows) lane = random.Integer(0, 4) * random.Integer(0, 7);
  return rows;
}

double SomeLoss(base::Generator& random, bool faults) {
  constexpr double kLosses[] = {0, 0.05, 0.3};
  if (!faults) return 0;
  return kLosses[random.Integer(0, 3)];
}

}  // namespace

Cluster::Cluster(uint64_t seed, std::unique_ptr<Service> own, Service* service)
    : random_(base::RandomKey(seed, 0, 0), {}),
      own_(std::move(own)),
      service_(service == nullptr ? *own_ : *service),
      requests_(SomeLoss(random_, service_.options.faults)),
      replies_(SomeLoss(random_, service_.options.faults)) {
  service_.clusters.push_back(this);
}

Cluster::Cluster(uint64_t seed, const ClusterOptions& options)
    : Cluster(seed, std::make_unique<Service>(options), nullptr) {
  Truth& truth = service_.truth;
  for (int64_t passes = random_.Integer(1, 3); passes > 0; --passes) {
    truth.lane_rows.push_back(SomeLanes(random_));
  }
  truth.counted = random_.Integer(0, 2) == 0;
  service_.runs_max = random_.Integer(5, 12);
  service_.buffer_bytes = random_.Integer(1, 40);
  StartDispatcher();
  workers_ = std::vector<Worker>(random_.Integer(1, 5));
  for (Worker& worker : workers_) StartWorker(worker);
  BeginJob();
}

Cluster::Cluster(uint64_t seed, Cluster& host)
    : Cluster(seed, nullptr, &host.service_) {
  BeginJob();
}

void Cluster::BeginJob() {
  truth_ = service_.truth;
  truth_.batch_rows = random_.Integer(1, 6);
  any_ = random_.Integer(0, 2) == 0;
  constexpr const char* kVisits[] = {"exactly_once", "exactly_once", "at_most_once",
                                     "at_least_once"};
  if (any_) visit_ = kVisits[random_.Integer(0, 4)];
  if (!any_ && is_host() && service_.options.runs && random_.Integer(0, 3) == 0) {
    GiveRuns();
  }
  BeginRun("");
}

// Lanes give runs of batches of one key, for consumers to take together.
void Cluster::GiveRuns() {
  constexpr int64_t kGroups[] = {2, 4, 6, 12};
  truth_.runs.emplace();
  truth_.runs->group = kGroups[random_.Integer(0, 4)];
  truth_.runs->sizes.resize(random_.Integer(1, 4));
  for (int64_t& size : truth_.runs->sizes) size = random_.Integer(1, 5);
  truth_.counted = false;
  truth_.batch_rows = 1;
  for (std::vector<int64_t>& lanes : truth_.lane_rows) {
    std::vector<std::vector<int64_t>>& tails = truth_.tails.emplace_back();
    for (int64_t& rows : lanes) {
      rows = truth_.runs->group * random_.Integer(0, 4);
      std::vector<int64_t>& of_lane = tails.emplace_back();
      for (const int64_t size : truth_.runs->sizes) {
        of_lane.push_back(random_.Integer(0, size * truth_.runs->group));
        rows += of_lane.back();
      }
      if (std::ranges::max(of_lane) == 0) of_lane.clear();
    }
  }
  service_.truth = truth_;
}

absl::Status Cluster::RunTogether(const std::vector<Cluster*>& clusters) {
  base::Generator& random = clusters.front()->random_;
  const auto done = [](const Cluster* cluster) { return cluster->AllDone(); };
  for (int64_t step = 0; step < kStepsMax * std::ssize(clusters); ++step) {
    if (std::ranges::all_of(clusters, done)) {
      for (const Cluster* const cluster : clusters) TRY(cluster->CheckEnd());
      return clusters.front()->CheckReplay();
    }
    TRY(clusters[random.Integer(0, std::ssize(clusters))]->Go(step));
  }
  std::string waiting = "no progress";
  for (const Cluster* const cluster : clusters) {
    waiting += base::StrCat("\n", cluster->settings_.name, ":");
    for (const Consumer& one : cluster->consumers_) waiting += one.process->Describe();
  }
  return absl::DeadlineExceededError(waiting);
}

absl::Status Cluster::CheckEnd() const { return any_ ? CheckAny() : CheckFixed(); }

absl::Status Cluster::Go(int64_t step) {
  now_ += absl::Milliseconds(random_.Integer(0, 20));
  Beat();
  const bool faulty = step < kFaultySteps && service_.options.faults;
  if (faulty && random_.Integer(0, 400) == 0) Fault();
  if (step >= kFaultySteps) StartLost(1);
  return Step();
}

int64_t Cluster::all_rows() const {
  int64_t all = 0;
  for (const std::vector<int64_t>& lanes : truth_.lane_rows) {
    for (const int64_t rows : lanes) all += rows;
  }
  return all;
}

int64_t Cluster::made_rows() const {
  int64_t made = 0;
  for (const Worker& worker : workers_) {
    if (worker.process != nullptr) made += worker.process->made_rows();
  }
  return made;
}

api::JobVisits Cluster::Visits() const {
  const int64_t number = dispatcher_->state().Named(settings_.name);
  for (const api::JobSummary& job : dispatcher_->Tell(api::ListJobs(), now_).jobs) {
    if (job.job == number) return job.visits;
  }
  return {};
}

absl::Status Cluster::Step() {
  const int64_t dice = random_.Integer(0, 100);
  if (dice < 20) return DeliverRequest();
  if (dice < 40) return DeliverReply();
  if (dice < 65) return DeliverStream();
  if (dice < 85) {
    Worker& worker = workers_[random_.Integer(0, std::ssize(workers_))];
    if (worker.process != nullptr) worker.process->MakeOne(random_, now_);
    return absl::OkStatus();
  }
  Consumer& consumer = consumers_[random_.Integer(0, std::ssize(consumers_))];
  TRY(consumer.process->Step());
  SendOut(consumer);
  return any_ ? CheckRows(consumer.process->pass()) : absl::OkStatus();
}

// --- Processes ---

api::JobSettings Cluster::SomeSettings() {
  const int64_t number =
      std::ranges::find(service_.clusters, this) - service_.clusters.begin();
  api::JobSettings settings{.name = base::StrCat("job ", number), .seed = 7};
  settings.consumers = random_.Integer(1, 5);
  constexpr const char* kRemainders[] = {"drop", "pad", "keep"};
  settings.remainder = kRemainders[random_.Integer(0, 3)];
  settings.visit = visit_;
  settings.order = any_ ? "any" : "fixed";
  if (any_) return settings;
  if (truth_.runs) {
    while (truth_.runs->group % settings.consumers != 0) --settings.consumers;
  }
  settings.members = random_.Integer(0, 3) == 0 ? 2 : 1;
  settings.global_batch = random_.Integer(0, 4) == 0 &&
                          truth_.batch_rows % settings.consumers == 0 && !truth_.runs;
  settings.open_lanes = random_.Integer(1, 6);
  return settings;
}

void Cluster::BeginRun(const std::string& state,
                       const std::vector<std::string>& parts) {
  state_ = state;
  for (Consumer& consumer : consumers_) {
    while (!consumer.streams.empty()) Break(consumer, consumer.streams.begin()->first);
  }
  const int64_t life = consumers_.empty() ? 1 : consumers_[0].life + 1;
  settings_ = SomeSettings();
  const bool resized = any_ && !state.empty() && random_.Integer(0, 3) == 0;
  if (resized) truth_.batch_rows = random_.Integer(1, 6);
  truth_.resized = truth_.resized || resized;
  settings_.pipeline = PipelineOf(truth_.batch_rows);
  consumers_.clear();
  for (int64_t i = 0; i < settings_.consumers * settings_.members; ++i) {
    api::OpenJob open{.settings = settings_};
    open.run = {"run", restarts_, "host"};
    open.consumer = i / settings_.members;
    open.member = i % settings_.members;
    open.opening = ++openings_;
    open.state = std::ssize(parts) == settings_.consumers ? parts[i] : state;
    const int64_t credit = random_.Integer(1, 30);
    Consumer& consumer = consumers_.emplace_back(Consumer{nullptr, life});
    consumer.process = std::make_unique<SimConsumer>(open, truth_, credit);
  }
  ++restarts_;
}

void Cluster::StartWorker(Worker& worker) {
  ++worker.life;
  worker.leaves = absl::InfiniteFuture();
  const SimWorkerOptions options{
      {.runs_max = service_.runs_max, .buffer_bytes = service_.buffer_bytes},
      {.budget_bytes = service_.options.window_bytes}};
  worker.process = std::make_unique<SimWorker>(
      service_.next_worker++, options, service_.truth,
      [&service = service_](delivery::ReaderId reader,
                            const api::WorkerMessage& message, const Rows& rows) {
        for (Cluster* const one : service.clusters)
          one->ToReader(reader, message, rows);
      });
}

void Cluster::LoseWorker(Worker& worker) {
  if (worker.process == nullptr) return;
  const int64_t number = worker.process->number();
  worker.process.reset();
  for (Cluster* const cluster : service_.clusters) {
    for (Consumer& consumer : cluster->consumers_) cluster->Break(consumer, number);
  }
}

// Those who leave are gone once they have nothing, or when their time is over. Others
// take their places.
void Cluster::LoseDrained() {
  for (Worker& worker : workers_) {
    if (worker.process == nullptr) continue;
    if (!worker.process->drained() && now_ < worker.leaves) continue;
    LoseWorker(worker);
    StartWorker(worker);
  }
}

void Cluster::StartDispatcher() {
  dispatcher_ = std::make_unique<control::Dispatcher>(control::DispatcherOptions{}, 7);
  // Half of the journal may have become a snapshot.
  std::string snapshot;
  std::vector<std::string> events = journal_;
  if (random_.Integer(0, 2) == 0) {
    control::State before;
    const int64_t half = std::ssize(events) / 2;
    for (int64_t i = 0; i < half; ++i) {
      CHECK(before.Apply(control::FromLine(events[i]).value()).ok());
    }
    snapshot = before.Snapshot();
    events.erase(events.begin(), events.begin() + half);
  }
  const absl::Status restored = dispatcher_->Restore(snapshot, events, now_);
  CHECK(restored.ok()) << restored;
  for (std::string& event : dispatcher_->TakeEvents()) {
    journal_.push_back(std::move(event));
  }
}

absl::Status Cluster::CheckReplay() const {
  control::State again;
  for (const std::string& line : journal_) {
    TRY(again.Apply(TRY(control::FromLine(line))));
  }
  if (again.Snapshot() == dispatcher_->state().Snapshot()) return absl::OkStatus();
  return absl::InternalError("replaying the journal gives another state");
}

void Cluster::Fault() {
  Worker& worker = workers_[random_.Integer(0, std::ssize(workers_))];
  Consumer& consumer = consumers_[random_.Integer(0, std::ssize(consumers_))];
  switch (random_.Integer(0, 8)) {
    case 0:
    case 1:
      LoseWorker(worker);
      break;
    case 2:
      StartDispatcher();
      break;
    case 3:
      worker.cut_off = now_ + absl::Seconds(random_.Integer(1, 10));
      break;
    case 4:
      if (worker.process == nullptr) break;
      worker.process->Drain();
      worker.leaves = now_ + absl::Seconds(random_.Integer(1, 30));
      break;
    case 5:
      any_ ? ResumeAnywhere() : ResumeElsewhere();
      break;
    default:
      if (!consumer.streams.empty()) Break(consumer, consumer.streams.begin()->first);
  }
  StartLost(0.5);
}

void Cluster::StartLost(double likelihood) {
  for (Worker& worker : workers_) {
    const bool starts = worker.process == nullptr && random_.Uniform() < likelihood;
    if (starts) StartWorker(worker);
  }
}

// --- Messages ---

Cluster::Worker* Cluster::FindWorker(int64_t number) {
  for (Worker& worker : workers_) {
    if (worker.process != nullptr && worker.process->number() == number) return &worker;
  }
  return nullptr;
}

// Everybody beats several times a heartbeat: what is lost is said again soon.
void Cluster::Beat() {
  if (now_ < next_beats_) return;
  next_beats_ = now_ + absl::Milliseconds(random_.Integer(100, 300));
  const int64_t workers = std::ssize(workers_);
  for (int64_t who = 0; is_host() && who < workers; ++who) {
    const Worker& worker = workers_[who];
    if (worker.process == nullptr || now_ < worker.cut_off) continue;
    requests_.Send({worker.process->Beat(), who, worker.life}, random_);
  }
  LoseDrained();
  for (int64_t i = 0; i < std::ssize(consumers_); ++i) {
    const Consumer& consumer = consumers_[i];
    Request request{consumer.process->open(), workers + i, consumer.life};
    if (consumer.process->opened()) request.what = consumer.process->Beat();
    requests_.Send(request, random_);
  }
}

// Events are written down before the reply goes.
absl::Status Cluster::DeliverRequest() {
  if (requests_.empty()) return absl::OkStatus();
  const Request request = requests_.Take(random_);
  Reply reply{{}, request.from, request.life};
  absl::Status status;
  const auto keep = [&](auto result) {
    status = result.status();
    if (result.ok()) reply.what = *std::move(result);
  };
  if (const auto* open = std::get_if<api::OpenJob>(&request.what)) {
    keep(dispatcher_->Open(*open, now_));
  } else if (const auto* consumer = std::get_if<api::ConsumerBeat>(&request.what)) {
    keep(dispatcher_->Beat(*consumer, now_));
  } else {
    keep(dispatcher_->Beat(std::get<api::WorkerBeat>(request.what), now_));
  }
  dispatcher_->Place(now_);
  for (std::string& event : dispatcher_->TakeEvents()) {
    journal_.push_back(std::move(event));
  }
  if (status.ok()) replies_.Send(reply, random_);
  TRY(CheckRights());
  // Of a run before, or before this one was allowed in.
  if (absl::IsFailedPrecondition(status)) return absl::OkStatus();
  return status;
}

absl::Status Cluster::DeliverReply() {
  if (replies_.empty()) return absl::OkStatus();
  const Reply reply = replies_.Take(random_);
  const int64_t workers = std::ssize(workers_);
  if (reply.to < workers) {
    Worker& worker = workers_[reply.to];
    if (worker.process == nullptr || worker.life != reply.life) return absl::OkStatus();
    if (now_ < worker.cut_off) return absl::OkStatus();
    worker.process->OnNews(std::get<api::WorkerNews>(reply.what));
    return absl::OkStatus();
  }
  const int64_t number = reply.to - workers;
  if (number >= std::ssize(consumers_)) return absl::OkStatus();
  Consumer& consumer = consumers_[number];
  if (consumer.life != reply.life) return absl::OkStatus();
  if (const auto* opened = std::get_if<api::OpenedJob>(&reply.what)) {
    TRY(consumer.process->OnOpened(*opened));
  } else {
    TRY(consumer.process->OnNews(std::get<api::ConsumerNews>(reply.what)));
  }
  SendOut(consumer);
  return CheckRights();
}

// --- Streams ---

Stream& Cluster::StreamTo(Consumer& consumer, int64_t worker) {
  const auto [found, added] = consumer.streams.try_emplace(worker);
  Stream& stream = found->second;
  if (!added) return stream;
  stream.reader = base::MakeId<delivery::ReaderId>(service_.next_reader++);
  stream.consumer = &consumer - consumers_.data();
  stream.worker = worker;
  readers_[stream.reader] = stream.consumer;
  stream.to_worker.push_back({consumer.process->hello(), {}, {}});
  return stream;
}

void Cluster::SendOut(Consumer& consumer) {
  for (auto& [worker, message] : consumer.process->TakeOutgoing()) {
    if (FindWorker(worker) == nullptr) {
      consumer.process->OnWorkerGone(worker);  // Connecting fails.
      continue;
    }
    StreamTo(consumer, worker).to_worker.push_back(std::move(message));
  }
}

void Cluster::Break(Consumer& consumer, int64_t worker) {
  const auto found = consumer.streams.find(worker);
  if (found == consumer.streams.end()) return;
  const delivery::ReaderId reader = found->second.reader;
  consumer.streams.erase(found);
  readers_.erase(reader);
  if (Worker* const other = FindWorker(worker)) other->process->OnReaderGone(reader);
  consumer.process->OnWorkerGone(worker);
  SendOut(consumer);
}

absl::Status Cluster::DeliverStream() {
  Consumer& consumer = consumers_[random_.Integer(0, std::ssize(consumers_))];
  if (consumer.streams.empty()) return absl::OkStatus();
  const auto it = std::next(consumer.streams.begin(),
                            random_.Integer(0, std::ssize(consumer.streams)));
  Stream& stream = it->second;
  if (random_.Integer(0, 2) == 0 && !stream.to_worker.empty()) {
    const api::ReaderMessage message = std::move(stream.to_worker.front());
    stream.to_worker.pop_front();
    Worker* const worker = FindWorker(stream.worker);
    if (worker == nullptr) return absl::OkStatus();
    worker->process->OnReader(stream.reader, message, settings_.members);
  } else if (!stream.to_consumer.empty()) {
    const auto [message, rows] = std::move(stream.to_consumer.front());
    stream.to_consumer.pop_front();
    TRY(consumer.process->OnWorker(stream.worker, message, rows));
    SendOut(consumer);
  }
  return absl::OkStatus();
}

void Cluster::ToReader(delivery::ReaderId reader, const api::WorkerMessage& message,
                       const Rows& rows) {
  const auto found = readers_.find(reader);
  if (found == readers_.end()) return;
  for (auto& [worker, stream] : consumers_[found->second].streams) {
    if (stream.reader == reader) stream.to_consumer.emplace_back(message, rows);
  }
}

// --- What must hold ---

bool Cluster::AllDone() const {
  return std::ranges::all_of(
      consumers_, [](const Consumer& consumer) { return consumer.process->done(); });
}

}  // namespace millrace::sim
