#include "millrace/client/consumer.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/json.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/api/stream.h"
#include "millrace/base/clock.h"
#include "millrace/base/ids.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/client/held_frames.h"
#include "millrace/client/job_pass.h"
#include "millrace/client/opening.h"
#include "millrace/client/worker_links.h"
#include "millrace/core/block.h"
#include "millrace/delivery/job_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/exec/copies.h"
#include "millrace/exec/engine.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/transport/channel.h"

namespace millrace::client {
namespace {

constexpr int64_t kPollMs = 500;  // The dispatcher is heard of at least that often.
constexpr absl::Duration kLeaveWithin = absl::Seconds(2);
constexpr absl::Duration kSettleWithin = absl::Seconds(30);
constexpr absl::Duration kTellEvery = absl::Seconds(2);

using Ready = delivery::PassReader::Ready;

}  // namespace

class Consumer::Process {
 public:
  Process(rewrite::Rewritten pipeline, const ConsumerOptions& options)
      : options_(options),
        library_(options.library == nullptr ? ops::DefaultLibrary() : *options.library),
        engine_({.threads = 1, .meters = false}),
        pipeline_(std::move(pipeline)),
        links_(Events()) {}

  // Who calls back meanwhile changes nothing any more, and nobody does after it.
  ~Process() {
    Leave();
    client_.reset();
  }

  absl::Status Open();
  absl::StatusOr<std::optional<core::Block>> Next(absl::Time deadline);
  absl::Status StartPass(int64_t pass);
  void Cancel();
  void Leave();
  lanes::State state() const;
  int64_t pass() const;

  CarrierStats carriers() const {
    const base::MutexLock lock(&mutex_);
    const SharingStats sharing = links_.sharing();
    return {sharing.workers, held_.shared_bytes(), held_.copied_bytes(), sharing.note};
  }

  const api::OpenedJob& job() const { return job_; }

 private:
  absl::StatusOr<std::shared_ptr<JobPass>> PlanPass(int64_t pass);
  absl::Status BeginAhead(int64_t wanted);
  absl::StatusOr<std::optional<core::Block>> EndPass();
  void WaitSettled() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::optional<int64_t>> TryTake(absl::Time deadline,
                                                 std::optional<ReceivedBatch>& received,
                                                 std::shared_ptr<JobPass>& plan)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<ReceivedBatch> TakeReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  api::ReaderHello hello() const;
  api::ConsumerBeat Beat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  lanes::State StateNow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return plans_.at(reader_->pass())->StateOf(reader_->current());
  }

  void TellState(api::ConsumerBeat& beat) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Poll(int64_t wait_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnNews(const absl::StatusOr<http::Response>& response, bool again);
  absl::Status Take(const api::ConsumerNews& news)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status Act() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  LinkEvents Events();
  void OnWorker(delivery::WorkerId worker, transport::Received received);
  void OnWorkerGone(delivery::WorkerId worker, int64_t link);
  absl::Status Take(delivery::WorkerId worker, transport::Received received)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The lane that the training loop waits for, and since when.
  struct Waiting {
    api::LaneAddress at;
    absl::Time since;
  };

  const ConsumerOptions options_;
  const ops::Library& library_;
  exec::Engine engine_;  // Plans passes, joins tails; runs nothing.
  rewrite::Rewritten pipeline_;
  api::OpenedJob job_;
  std::string listing_;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::unique_ptr<delivery::JobReader> reader_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, std::shared_ptr<JobPass>> plans_ ABSL_GUARDED_BY(mutex_);
  HeldFrames held_ ABSL_GUARDED_BY(mutex_);
  WorkerLinks links_ ABSL_GUARDED_BY(mutex_);
  std::optional<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  int64_t next_token_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time tell_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int64_t told_taken_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failed_ ABSL_GUARDED_BY(mutex_);
  bool settling_ ABSL_GUARDED_BY(mutex_) = false;  // Somebody waits to leave.
  std::atomic<bool> left_ = false;
  std::unique_ptr<http::Client> client_;
};

// --- Opening ---

absl::Status Consumer::Process::Open() {
  client_ = TRY(http::Client::Make(options_.client));
  OpenedPipeline opened = TRY(OpenJob(*client_, pipeline_.before, options_));
  job_ = std::move(opened.job);
  listing_ = std::move(opened.listing);
  const ir::Catalog& catalog = library_.catalog();
  if (job_.copies > 1) {
    pipeline_ = TRY(rewrite::Rewrite(
        TRY(exec::Copied(pipeline_.before, job_.copies, catalog)), catalog));
  }
  std::optional<lanes::State> state;
  if (!job_.state.empty()) state = TRY(api::StateFromJson(job_.state));
  const int64_t pass = state ? state->pass : job_.first_pass;
  const std::shared_ptr<JobPass> plan = TRY(PlanPass(pass));
  const base::MutexLock lock(&mutex_);
  links_.Begin(*client_, hello(), options_.shares_memory);
  reader_ = std::make_unique<delivery::JobReader>(delivery::JobReaderOptions{
      .counted = job_.facts.counted, .credit_bytes = options_.credit_bytes});
  reader_->Begin(TRY(plan->Begin(state)));
  plans_[pass] = plan;
  TRY(Act());
  Poll(kPollMs);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<JobPass>> Consumer::Process::PlanPass(int64_t pass) {
  JobPass::Source source{&pipeline_, &library_, &job_, listing_};
  source.settings = options_.settings;
  source.consumer = options_.consumer;
  source.credit_bytes = options_.credit_bytes;
  return TRY(JobPass::Plan(engine_, source, pass));
}

// Planning takes a while, and others need the lock meanwhile.
absl::Status Consumer::Process::BeginAhead(int64_t wanted) {
  const std::shared_ptr<JobPass> plan = TRY(PlanPass(wanted));
  const base::MutexLock lock(&mutex_);
  if (reader_->wants_pass() != wanted) return absl::OkStatus();
  reader_->Begin(TRY(plan->Begin(std::nullopt)));
  plans_[wanted] = plan;
  return Act();
}

// --- The training loop ---

std::optional<ReceivedBatch> Consumer::Process::TakeReady() {
  if (reader_->current().ready() != Ready::kBatch) return std::nullopt;
  const delivery::TakenBatch taken = reader_->Take();
  ReceivedBatch received{
      {}, taken.rows, taken.slice_begin, taken.slice_end, taken.valid};
  for (const delivery::BatchPart& part : taken.parts) {
    received.parts.push_back(held_.Take(part));
  }
  return received;
}

absl::StatusOr<std::optional<core::Block>> Consumer::Process::Next(
    absl::Time deadline) {
  std::optional<ReceivedBatch> received;
  std::shared_ptr<JobPass> plan;
  while (plan == nullptr) {
    const std::optional<int64_t> ahead = TRY(TryTake(deadline, received, plan));
    if (ahead) TRY(BeginAhead(*ahead));
  }
  // Of a last batch of few rows there may be none for this consumer.
  if (!received || received->slice_begin == received->slice_end) {
    return options_.one_pass ? std::nullopt : TRY(EndPass());
  }
  return TRY(plan->BatchOf(*received));
}

// Takes what is ready, nothing at the pass's end, and gives the plan of the pass; waits
// where nothing is. Or tells which pass is to be begun ahead first.
absl::StatusOr<std::optional<int64_t>> Consumer::Process::TryTake(
    absl::Time deadline, std::optional<ReceivedBatch>& received,
    std::shared_ptr<JobPass>& plan) {
  const base::MutexLock lock(&mutex_);
  TRY(absl::Status(failed_));
  const std::optional<int64_t> wanted = reader_->wants_pass();
  if (wanted && !options_.one_pass) return wanted;
  if (reader_->current().ready() == Ready::kWait) {
    NoteWaiting();
    if (changed_.WaitUntil(&mutex_, deadline)) return std::nullopt;
    return absl::DeadlineExceededError("no batch is ready yet");
  }
  waiting_.reset();
  plan = plans_.at(reader_->pass());
  received = TakeReady();
  TRY(Act());
  return std::nullopt;
}

absl::StatusOr<std::optional<core::Block>> Consumer::Process::EndPass() {
  TRY(StartPass(pass() + 1));
  return std::nullopt;
}

absl::Status Consumer::Process::StartPass(int64_t pass) {
  const auto ahead = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return pass > reader_->pass() && reader_->has_begun(pass);
  };
  std::shared_ptr<JobPass> plan;
  {
    const base::MutexLock lock(&mutex_);
    const bool back = pass <= reader_->pass() && options_.settings.order == "any";
    if (back) {
      return absl::FailedPreconditionError(
          base::StrCat("in any order a pass is read once: pass ", pass,
                       " was begun before; open the job again"));
    }
    if (ahead()) plan = plans_.at(pass);
  }
  if (plan == nullptr) plan = TRY(PlanPass(pass));
  const base::MutexLock lock(&mutex_);
  if (ahead()) {
    reader_->GoTo(pass);
  } else {
    reader_->StartOver(TRY(plan->Begin(std::nullopt)));
  }
  plans_[pass] = plan;
  std::erase_if(plans_, [&](const auto& entry) { return entry.first != pass; });
  waiting_.reset();
  return Act();
}

void Consumer::Process::Cancel() {
  const base::MutexLock lock(&mutex_);
  Fail(absl::CancelledError("the job was left"));
}

// Others may need rights that this one has and will not take.
void Consumer::Process::WaitSettled() {
  const absl::Time deadline = base::RealClock().Now() + kSettleWithin;
  const base::MutexLock lock(&mutex_);
  settling_ = true;
  while (failed_.ok() && reader_ != nullptr && !reader_->settled()) {
    if (!changed_.WaitUntil(&mutex_, deadline)) return;
  }
}

// Tells the dispatcher, if it hears it soon, that others may have the job.
void Consumer::Process::Leave() {
  WaitSettled();
  Cancel();
  if (job_.job == 0 || left_.exchange(true)) return;
  api::ConsumerBeat beat{.reader = hello(), .leaves = true};
  {
    const base::MutexLock lock(&mutex_);
    if (reader_ != nullptr) {
      const api::ConsumerBeat last = reader_->Beat();
      beat.number = last.number;
      beat.pass = last.pass;
      beat.taken = last.taken;
      beat.left_out_rows = last.left_out_rows;
      TellState(beat);
    }
  }
  client_
      ->CallAndWait({.address = options_.dispatcher,
                     .path = "/v1/consumers/beat",
                     .body = api::ToJson(beat),
                     .within = kLeaveWithin})
      .IgnoreError();
}

int64_t Consumer::Process::pass() const {
  const base::MutexLock lock(&mutex_);
  return reader_->pass();
}

lanes::State Consumer::Process::state() const {
  const base::MutexLock lock(&mutex_);
  return StateNow();
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

api::ConsumerBeat Consumer::Process::Beat() {
  const absl::Time now = base::RealClock().Now();
  api::ConsumerBeat beat = reader_->Beat();
  beat.reader = hello();
  beat.unreachable = links_.Unreachable(now);
  if (waiting_) {
    beat.waits_for = waiting_->at;
    beat.waits_ms = absl::ToInt64Milliseconds(now - waiting_->since);
  }
  return beat;
}

// Tells where it is, now and then: for who resumes without a state. In fixed order one
// consumer knows that of all.
void Consumer::Process::TellState(api::ConsumerBeat& beat) {
  const bool whole = options_.settings.order != "any";
  if (options_.member != 0 || (whole && options_.consumer != 0)) return;
  const absl::Time now = base::RealClock().Now();
  const bool changed = beat.taken != told_taken_;
  if (!changed || (now < tell_at_ && !beat.leaves)) return;
  tell_at_ = now + kTellEvery;
  told_taken_ = beat.taken;
  beat.state = api::StateToJson(StateNow());
}

// Asks for news, waiting for them; again and again where they are waited for.
void Consumer::Process::Poll(int64_t wait_ms) {
  api::ConsumerBeat beat = Beat();
  TellState(beat);
  beat.wait_ms = wait_ms;
  client_->Start(
      {.address = options_.dispatcher,
       .path = "/v1/consumers/beat",
       .body = api::ToJson(beat)},
      [this, again = wait_ms > 0](const auto& response) { OnNews(response, again); });
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
  for (const api::WorkerPlace& place : news.workers) {
    links_.SetAddress(base::MakeId<delivery::WorkerId>(place.worker),
                      TRY(http::ReadAddress(place.address)));
  }
  links_.StopWaiting(base::RealClock().Now());
  TRY(reader_->OnNews(news));
  return Act();
}

// --- Workers ---

absl::Status Consumer::Process::Act() {
  TRY(plans_.at(reader_->pass())->DealMore(reader_->current()));
  for (delivery::ReaderAction& action : reader_->TakeActions()) {
    if (const auto* send = std::get_if<delivery::SendWants>(&action)) {
      links_.Send(send->worker, send->message);
    } else {
      held_.Drop(std::get<delivery::Drop>(action).token);
    }
  }
  if (reader_->MustTell()) Poll(0);
  // Who is woken for nothing has to wait for the lock, and sleeps again.
  const bool waits_on = reader_->current().ready() == Ready::kWait && !settling_;
  if (!waits_on || reader_->wants_pass()) changed_.NotifyAll();
  return absl::OkStatus();
}

// Since when the training loop waits for the lane that it waits for.
void Consumer::Process::NoteWaiting() {
  const std::optional<api::LaneAddress> at = reader_->current().waits_for();
  if (at && waiting_ && waiting_->at == *at) return;
  waiting_.reset();
  if (at) waiting_ = {*at, base::RealClock().Now()};
}

LinkEvents Consumer::Process::Events() {
  return {.on_message = std::bind_front(&Process::OnWorker, this),
          .on_closed = std::bind_front(&Process::OnWorkerGone, this)};
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
  links_.OnMessage(worker);
  const auto token = base::MakeId<delivery::Token>(next_token_++);
  if (message.batch) held_.Hold(token, FrameOf(std::move(received)));
  TRY(reader_->OnWorker(worker, message, token));
  return Act();
}

void Consumer::Process::OnWorkerGone(delivery::WorkerId worker, int64_t link) {
  const base::MutexLock lock(&mutex_);
  if (!links_.OnClosed(worker, link, base::RealClock().Now())) return;
  if (!failed_.ok()) return;
  reader_->OnWorkerGone(worker);
  const absl::Status acted = Act();
  if (!acted.ok()) Fail(acted);
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

absl::Status Consumer::StartPass(int64_t pass) { return process_->StartPass(pass); }

void Consumer::Cancel() { process_->Cancel(); }

void Consumer::Leave() { process_->Leave(); }

int64_t Consumer::pass() const { return process_->pass(); }

CarrierStats Consumer::carriers() const { return process_->carriers(); }

const api::OpenedJob& Consumer::job() const { return process_->job(); }

lanes::State Consumer::state() const { return process_->state(); }

}  // namespace millrace::client
