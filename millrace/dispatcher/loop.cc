#include "millrace/dispatcher/loop.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/api/operations.h"
#include "millrace/api/route.h"
#include "millrace/api/service.h"
#include "millrace/base/log.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/control/dispatcher.h"
#include "millrace/metadata/metadata_store.h"

namespace millrace::dispatcher {
namespace {

constexpr int64_t kDrainMax = 4096;
constexpr int64_t kNoticesKept = 100;  // For those who ask.

// How long a client may have an answer waited for.
constexpr absl::Duration kWaitMax = absl::Seconds(30);

absl::Duration WaitOf(int64_t milliseconds) {
  return std::clamp(absl::Milliseconds(milliseconds), absl::ZeroDuration(), kWaitMax);
}

absl::Status Ending() {
  return absl::UnavailableError("the dispatcher is ending: ask again in a moment");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loop>> Loop::Start(metadata::MetadataStore& store,
                                                  const LoopOptions& options) {
  std::unique_ptr<Loop> loop(new Loop(store, options));
  const metadata::MetadataStore::Kept kept = TRY(store.Load());
  TRY(loop->dispatcher_.Restore(kept.snapshot, kept.events, options.clock.Now()));
  loop->events_ = std::ssize(kept.events);
  loop->thread_ =
      std::jthread([raw = loop.get()](const std::stop_token& stop) { raw->Run(stop); });
  return loop;
}

Loop::~Loop() {
  thread_.request_stop();
  inbox_.Close();
  if (thread_.joinable()) thread_.join();
}

// --- Asking ---

void Loop::Submit(Work work) {
  if (inbox_.TryPush(std::move(work))) return;
  work.refuse(inbox_.closed() ? Ending()
                              : absl::UnavailableError("the dispatcher is overloaded"));
}

void Loop::Ask(const api::OpenJob& open, Answer<api::OpenedJob> answer) {
  const auto step = [this, open, answer](bool is_last) -> std::optional<Reply> {
    absl::StatusOr<api::OpenedJob> opened =
        dispatcher_.Open(open, options_.clock.Now());
    const bool waits = opened.ok() && !opened->ready && opened->opening == 0;
    if (waits && !is_last) return std::nullopt;
    return [answer, opened] { answer(opened); };
  };
  Submit({step, step, answer, WaitOf(open.wait_ms)});
}

void Loop::Ask(const api::ConsumerBeat& beat, Answer<api::ConsumerNews> answer) {
  const auto reply = [beat, answer](absl::StatusOr<api::ConsumerNews> news,
                                    bool is_last) -> std::optional<Reply> {
    const bool nothing = news.ok() && news->version == beat.version;
    if (nothing && !is_last) return std::nullopt;
    return [answer, news] { answer(news); };
  };
  const auto handle = [this, beat, reply](bool is_last) {
    return reply(dispatcher_.Beat(beat, options_.clock.Now()), is_last);
  };
  const auto renew = [this, beat, reply](bool is_last) -> std::optional<Reply> {
    if (!is_last && !dispatcher_.HasNewsFor(beat)) return std::nullopt;
    return reply(dispatcher_.NewsFor(beat), is_last);
  };
  Submit({handle, renew, answer, WaitOf(beat.wait_ms)});
}

void Loop::Ask(const api::WorkerBeat& beat, Answer<api::WorkerNews> answer) {
  const auto reply = [beat, answer](absl::StatusOr<api::WorkerNews> news,
                                    bool is_last) -> std::optional<Reply> {
    const bool nothing = news.ok() && news->version == beat.version && !news->join;
    if (nothing && !is_last) return std::nullopt;
    return [answer, news] { answer(news); };
  };
  const auto handle = [this, beat, reply](bool is_last) {
    return reply(dispatcher_.Beat(beat, options_.clock.Now()), is_last);
  };
  const auto renew = [this, beat, reply](bool is_last) -> std::optional<Reply> {
    if (!is_last && !dispatcher_.HasNewsFor(beat)) return std::nullopt;
    return reply(dispatcher_.NewsFor(beat), is_last);
  };
  Submit({handle, renew, answer, WaitOf(beat.wait_ms)});
}

void Loop::Ask(const api::PutObject& put, Answer<api::Nothing> answer) {
  const auto handle = [this, put, answer](bool) -> std::optional<Reply> {
    absl::Status status = store_.PutObject(put.hash, put.text);
    // Not the one who asks has too little room.
    if (absl::IsResourceExhausted(status)) {
      status = absl::UnavailableError(
          base::StrCat("the dispatcher cannot keep it: ", status.message()));
    }
    return [answer, status] {
      answer(status.ok() ? absl::StatusOr<api::Nothing>(api::Nothing{}) : status);
    };
  };
  Submit({.handle = handle, .refuse = answer});
}

void Loop::Ask(const api::GetObject& get, Answer<api::Object> answer) {
  const auto handle = [this, get, answer](bool) -> std::optional<Reply> {
    const absl::StatusOr<std::string> text = store_.GetObject(get.hash);
    return [answer, text] {
      answer(text.ok() ? absl::StatusOr<api::Object>(api::Object{*text})
                       : text.status());
    };
  };
  Submit({.handle = handle, .refuse = answer});
}

template <typename Request, typename Told>
void Loop::Tell(const Request& request, Answer<Told> answer) {
  const auto handle = [this, request, answer](bool) -> std::optional<Reply> {
    const Told told = dispatcher_.Tell(request, options_.clock.Now());
    return [answer, told] { answer(told); };
  };
  Submit({.handle = handle, .refuse = answer});
}

void Loop::Ask(const api::GetStatus& request, Answer<api::ServiceStatus> answer) {
  Tell(request, std::move(answer));
}

void Loop::Ask(const api::ListJobs& request, Answer<api::JobList> answer) {
  Tell(request, std::move(answer));
}

void Loop::Ask(const api::ListWorkers& request, Answer<api::WorkerList> answer) {
  Tell(request, std::move(answer));
}

void Loop::Ask(const api::ListNotices& /*request*/, Answer<api::NoticeList> answer) {
  const auto handle = [this, answer](bool) -> std::optional<Reply> {
    const absl::Time now = options_.clock.Now();
    api::NoticeList list;
    for (const KeptNotice& kept : notices_) {
      list.notices.push_back(kept.notice);
      list.notices.back().ago_ms = absl::ToInt64Milliseconds(now - kept.at);
    }
    return [answer, list] { answer(list); };
  };
  Submit({.handle = handle, .refuse = answer});
}

// --- The loop ---

void Loop::Run(const std::stop_token& stop) {
  absl::Status status;
  while (!stop.stop_requested() && status.ok()) {
    std::vector<Reply> replies;
    Handle(Drain(stop), replies);
    const bool changed = dispatcher_.Place(options_.clock.Now());
    Renew(changed || !replies.empty(), replies);
    LogNotices();
    status = WriteDown();
    if (!status.ok()) break;
    for (const Reply& reply : replies) reply();
  }
  RefuseAll();
  const base::MutexLock lock(&mutex_);
  failure_ = status;
  ended_.NotifyAll();
}

// Waits for a request, or for the time of the next look round; then takes all there
// are.
std::vector<Loop::Work> Loop::Drain(const std::stop_token& stop) {
  std::vector<Work> works;
  absl::Time until = options_.clock.Now() + options_.control.heartbeat / 4;
  for (const Waiting& waiting : waiting_) until = std::min(until, waiting.until);
  absl::StatusOr<Work> first = inbox_.Pop(until, stop);
  if (!first.ok()) return works;
  works.push_back(*std::move(first));
  while (std::ssize(works) < kDrainMax) {
    std::optional<Work> next = inbox_.TryPop();
    if (!next) break;
    works.push_back(*std::move(next));
  }
  return works;
}

void Loop::Handle(std::vector<Work> works, std::vector<Reply>& replies) {
  const absl::Time now = options_.clock.Now();
  for (Work& work : works) {
    const bool waits = work.renew != nullptr && work.wait > absl::ZeroDuration();
    if (std::optional<Reply> reply = work.handle(!waits)) {
      replies.push_back(*std::move(reply));
    } else {
      const absl::Time until = now + work.wait;
      waiting_.push_back({std::move(work), until});
    }
  }
}

void Loop::Renew(bool changed, std::vector<Reply>& replies) {
  const absl::Time now = options_.clock.Now();
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    const bool is_last = now >= waiting.until;
    if (!changed && !is_last) return false;
    std::optional<Reply> reply = waiting.work.renew(is_last);
    if (!reply) return false;
    replies.push_back(*std::move(reply));
    return true;
  });
}

// All that was decided in this drain, in one transaction.
absl::Status Loop::WriteDown() {
  const std::vector<std::string> events = dispatcher_.TakeEvents();
  if (events.empty()) return absl::OkStatus();
  const absl::Duration begin = options_.clock.Monotonic();
  TRY(store_.Append(events));
  write_time_.Record(absl::ToInt64Microseconds(options_.clock.Monotonic() - begin));
  events_written_.Add(events.size());
  events_ += std::ssize(events);
  if (events_ < options_.snapshot_after) return absl::OkStatus();
  TRY(store_.Snapshot(dispatcher_.state().Snapshot()));
  events_ = 0;
  return absl::OkStatus();
}

void Loop::Keep(const control::Notice& notice) {
  if (std::ssize(notices_) >= kNoticesKept) notices_.pop_front();
  notices_.push_back({options_.clock.Now(),
                      {.number = ++noticed_,
                       .what = std::string(notice.what),
                       .name = notice.name,
                       .why = notice.why}});
}

void Loop::LogNotices() {
  for (const control::Notice& notice : dispatcher_.TakeNotices()) {
    Keep(notice);
    base::Log(base::LogLevel::kInfo, notice.what,
              {{"name", notice.name}, {"why", notice.why}});
    metrics_
        .AddCounter({"millrace_dispatcher_notices_total",
                     "What has happened to workers, jobs and lanes.",
                     {{"what", std::string(notice.what)}}})
        .Add();
  }
}

void Loop::RefuseAll() {
  inbox_.Close();
  for (const Waiting& waiting : waiting_) waiting.work.refuse(Ending());
  waiting_.clear();
  while (std::optional<Work> work = inbox_.TryPop()) work->refuse(Ending());
}

bool Loop::ended() const {
  const base::MutexLock lock(&mutex_);
  return failure_.has_value();
}

absl::Status Loop::WaitForFailure(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const base::MutexLock lock(&mutex_);
    ended_.NotifyAll();
  });
  const base::MutexLock lock(&mutex_);
  while (!failure_ && !stop.stop_requested())
    ended_.WaitUntil(&mutex_, absl::InfiniteFuture());
  return failure_.value_or(absl::OkStatus());
}

}  // namespace millrace::dispatcher
