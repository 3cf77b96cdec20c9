#include "millrace/adapters/python/service.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/tls.h"
#include "millrace/adapters/python/convert.h"
#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/hand_over.h"
#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"
#include "millrace/api/state.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/client/consumer.h"
#include "millrace/client/interruptible.h"
#include "millrace/client/save.h"
#include "millrace/client/worker_links.h"
#include "millrace/core/block.h"

namespace millrace::python {
namespace {

// So often a wait looks whether it is to end.
constexpr absl::Duration kLook = absl::Milliseconds(50);

client::ConsumerOptions OptionsOf(const ServiceAddress& address,
                                  const JobChoice& choice) {
  client::ConsumerOptions options{.dispatcher = {address.host, address.port}};
  options.client.token = address.token;
  const http::TlsOptions tls{.certificate_file = address.certificate_file,
                             .key_file = address.key_file,
                             .ca_file = address.ca_file};
  const bool secured = !(tls.certificate_file + tls.key_file + tls.ca_file).empty();
  if (secured) options.client.tls = tls;
  options.settings.name = choice.name;
  options.settings.consumers = choice.consumers;
  options.settings.members = choice.members;
  options.settings.order = choice.order;
  options.settings.visit = choice.visit;
  options.settings.remainder = choice.remainder;
  options.settings.sharding = choice.sharding;
  options.settings.target = choice.target;
  options.settings.tags = choice.tags;
  options.settings.global_batch = choice.global_batch;
  options.settings.open_lanes = choice.open_lanes;
  options.settings.share = choice.share;
  options.settings.share_hold_ms =
      absl::ToInt64Milliseconds(absl::Seconds(choice.share_hold_seconds));
  options.settings.seed = choice.seed;
  for (const auto& [name, version] : choice.packages) {
    options.settings.packages.push_back({name, version});
  }
  options.run = {choice.run, choice.restart, choice.host};
  options.consumer = choice.consumer;
  options.member = choice.member;
  options.resume = choice.resume;
  options.takeover = choice.takeover;
  options.open_within = absl::Seconds(choice.open_seconds);
  options.shares_memory = choice.shared_memory;
  options.library = &Library();
  return options;
}

Error Interrupted() { return {"CANCELLED", "interrupted"}; }

}  // namespace

std::string JoinStates(const std::vector<std::string>& parts) {
  return Checked(api::JoinStates(parts));
}

int64_t SaveOnService(const Pipeline& pipeline, const ServiceAddress& address,
                      const JobChoice& choice, const ServiceSave& save) {
  const auto interrupt = [&](const client::SaveProgress& progress) {
    return save.interrupt(progress.lanes, progress.done, progress.before);
  };
  return Checked(client::Save(pipeline.inner(), {.folder = save.folder,
                                                 .format = save.format,
                                                 .replace = save.replace,
                                                 .seed = save.seed,
                                                 .service = OptionsOf(address, choice),
                                                 .interrupt = interrupt}))
      .rows;
}

struct ServiceJob::Inner {
  // Waits for a batch, if the turn is still the caller's own.
  absl::StatusOr<std::optional<core::Block>> Take(const std::atomic<int64_t>& turn,
                                                  int64_t own, absl::Time deadline);

  base::Mutex taking;  // Held while a batch is waited for, so that passes do not mix.
  std::unique_ptr<client::Consumer> consumer;
  int64_t begun ABSL_GUARDED_BY(taking) = -1;  // A pass of which batches were taken.
};

ServiceJob::ServiceJob(const Pipeline& pipeline, const ServiceAddress& address,
                       const JobChoice& choice, const std::optional<std::string>& state,
                       std::function<bool()> interrupt)
    : inner_(std::make_unique<Inner>()),
      batches_(pipeline.Batches()),
      copies_(choice.copy),
      interrupt_(std::move(interrupt)),
      process_(getpid()) {
  client::ConsumerOptions options = OptionsOf(address, choice);
  if (state) options.state = Checked(api::StateFromJson(*state));
  inner_->consumer = Checked(
      client::OpenInterruptibly(pipeline.inner(), std::move(options), interrupt_));
}

ServiceJob::~ServiceJob() {
  // A forked child has none of its threads, and cannot end them.
  if (getpid() != process_)
    static_cast<void>(inner_.release());  // NOLINT(bugprone-unused-return-value)
}

void ServiceJob::CheckProcess() const {
  if (getpid() == process_) return;
  throw Error("FAILED_PRECONDITION",
              "this process was forked from one that reads from a service, and has "
              "none of its threads: start it with the spawn or forkserver method, or "
              "make the loader here");
}

absl::StatusOr<std::optional<core::Block>> ServiceJob::Inner::Take(
    const std::atomic<int64_t>& turn, int64_t own, absl::Time deadline) {
  const base::MutexLock lock(&taking);
  if (turn != own) return absl::CancelledError("the pass was left");
  begun = consumer->pass();
  return consumer->Next(deadline);
}

std::optional<Rows> ServiceJob::Next(int64_t turn) {
  CheckProcess();
  while (true) {
    const absl::Time deadline = base::RealClock().Now() + kLook;
    absl::StatusOr<std::optional<core::Block>> block =
        inner_->Take(turn_, turn, deadline);
    const bool waits =
        absl::IsDeadlineExceeded(block.status()) && base::RealClock().Now() >= deadline;
    if (waits && interrupt_()) throw Interrupted();
    if (waits) continue;
    Check(block.status());
    if (!block->has_value()) return std::nullopt;
    core::Block rows = *std::exchange(*block, std::nullopt);
    rows_ += batches_ ? rows.columns()[0].LeadingSize(0) : rows.rows();
    bytes_ += rows.content_bytes();
    return Checked(copies_ ? HandOverPrivate(std::move(rows))
                           : HandOver(std::move(rows)));
  }
}

int64_t ServiceJob::StartPass(int64_t pass) {
  CheckProcess();
  ++turn_;
  const base::MutexLock lock(&inner_->taking);
  const bool fresh = inner_->consumer->pass() == pass && inner_->begun != pass;
  if (!fresh) Check(inner_->consumer->StartPass(pass));
  inner_->begun = -1;
  return ++turn_;
}

void ServiceJob::Close() {
  CheckProcess();
  ++turn_;
  inner_->consumer->Leave();
}

Mark ServiceJob::State() const { return Mark(inner_->consumer->state()); }

uint64_t ServiceJob::seed() const {
  return static_cast<uint64_t>(inner_->consumer->job().seed);
}

int64_t ServiceJob::pass() const { return inner_->consumer->pass(); }

Carriers ServiceJob::carriers() const {
  const client::CarrierStats stats = inner_->consumer->carriers();
  return {stats.sharing, stats.shared_bytes, stats.copied_bytes, stats.note};
}

std::vector<std::string> ServiceJob::differences() const {
  return inner_->consumer->job().differences;
}

}  // namespace millrace::python
