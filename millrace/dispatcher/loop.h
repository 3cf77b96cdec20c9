// The dispatcher's one loop: drains an inbox of requests through the handlers of
// control, writes the events of the whole drain in one transaction, and only then lets
// the replies go. Who has nothing to hear yet waits, within its time, until there is
// something. One thread of its own; asking is thread-safe, and does not wait.
//
//   auto loop = TRY(Loop::Start(store, {}));
//   loop->Ask(beat, [](absl::StatusOr<api::WorkerNews> news) { … });
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/api/operations.h"
#include "millrace/api/route.h"
#include "millrace/api/service.h"
#include "millrace/base/bounded_queue.h"
#include "millrace/base/clock.h"
#include "millrace/base/metrics.h"
#include "millrace/base/mutex.h"
#include "millrace/control/dispatcher.h"
#include "millrace/metadata/metadata_store.h"

namespace millrace::dispatcher {

struct LoopOptions {
  control::DispatcherOptions control = {};
  uint64_t seed = 0;                // What seeds of jobs are drawn from.
  int64_t inbox_max = 1 << 16;      // Requests; more are told to come again.
  int64_t snapshot_after = 10'000;  // Events.
  base::Clock& clock = base::RealClock();
};

template <typename Reply>
using Answer = std::function<void(absl::StatusOr<Reply>)>;

class Loop {
 public:
  // Goes on from what the store has kept. The store outlives the loop.
  static absl::StatusOr<std::unique_ptr<Loop>> Start(metadata::MetadataStore& store,
                                                     const LoopOptions& options);

  // Answers what waits with Unavailable, and ends.
  ~Loop();

  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Called with the answer on the loop's thread: quick, and without waiting.
  void Ask(const api::OpenJob& open, Answer<api::OpenedJob> answer);
  void Ask(const api::ConsumerBeat& beat, Answer<api::ConsumerNews> answer);
  void Ask(const api::WorkerBeat& beat, Answer<api::WorkerNews> answer);
  void Ask(const api::PutObject& put, Answer<api::Nothing> answer);
  void Ask(const api::GetObject& get, Answer<api::Object> answer);
  void Ask(const api::GetStatus& request, Answer<api::ServiceStatus> answer);
  void Ask(const api::ListJobs& request, Answer<api::JobList> answer);
  void Ask(const api::ListWorkers& request, Answer<api::WorkerList> answer);
  void Ask(const api::ListNotices& request, Answer<api::NoticeList> answer);

  // What it counts (docs/metrics.md).
  const base::MetricRegistry& metrics() const { return metrics_; }

  // Whether it has ended by itself.
  bool ended() const;

  // Why the loop has ended by itself: what it decided could not be written down, so it
  // must be started again. Waits for that, or to be asked to stop.
  absl::Status WaitForFailure(const std::stop_token& stop);

 private:
  // One request. `handle` is called once, `renew` each time that something changed;
  // both give a way to answer, or nothing where there is nothing to say yet.
  using Reply = std::function<void()>;
  using Step = std::function<std::optional<Reply>(bool is_last)>;

  struct Work {
    Step handle;
    Step renew = nullptr;
    std::function<void(absl::Status)> refuse;
    absl::Duration wait = absl::ZeroDuration();
  };

  struct KeptNotice {
    absl::Time at;
    api::NoticeSummary notice;
  };

  struct Waiting {
    Work work;
    absl::Time until;
  };

  Loop(metadata::MetadataStore& store, const LoopOptions& options)
      : store_(store),
        options_(options),
        dispatcher_(options.control, options.seed),
        inbox_(options.inbox_max) {}

  template <typename Request, typename Told>
  void Tell(const Request& request, Answer<Told> answer);

  void Submit(Work work);
  void Run(const std::stop_token& stop);
  std::vector<Work> Drain(const std::stop_token& stop);
  void Handle(std::vector<Work> works, std::vector<Reply>& replies);
  void Renew(bool changed, std::vector<Reply>& replies);
  absl::Status WriteDown();
  void LogNotices();
  void Keep(const control::Notice& notice);
  void RefuseAll();

  metadata::MetadataStore& store_;
  LoopOptions options_;
  base::MetricRegistry metrics_;
  base::Counter& events_written_ = metrics_.AddCounter(
      {"millrace_dispatcher_events_total", "Events written to the journal.", {}});
  base::Histogram& write_time_ =
      metrics_.AddHistogram({"millrace_dispatcher_write_microseconds",
                             "Time that a drain's events took to be durable.",
                             {}});
  control::Dispatcher dispatcher_;  // The thread's own, as is what follows.
  std::vector<Waiting> waiting_;
  std::deque<KeptNotice> notices_;  // The last ones.
  int64_t noticed_ = 0;             // All of them.
  int64_t events_ = 0;              // Since the last snapshot.
  base::BoundedQueue<Work> inbox_;
  mutable base::Mutex mutex_;
  base::CondVar ended_;
  std::optional<absl::Status> failure_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace millrace::dispatcher
