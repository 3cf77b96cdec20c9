// A thousand simulated workers that beat once a second, and what that costs the
// dispatcher, which is a process of its own.

#include <sys/resource.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/server.h"
#include "millrace/api/json.h"
#include "millrace/api/service.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/service/child_process.h"
#include "millrace/bench/service/fleet.h"
#include "millrace/bench/usage.h"
#include "millrace/bench/workload.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/dispatcher/server.h"
#include "millrace/metadata/memory_store.h"

namespace millrace::bench {
namespace {

constexpr int64_t kWorkers = 1000;
constexpr int64_t kBeatMs = 1000;
constexpr int kConnectionsMax = 2048;

// As many connections as the system lets a process have.
void AllowConnections() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

// A dispatcher that knows the workers already and has given each a lane. Tells its
// port, and the beat of the consumer that needs the lanes.
absl::Status Dispatch(Lines& lines) {
  AllowConnections();
  metadata::MemoryStore store;
  const auto loop = TRY(dispatcher::Loop::Start(store, {}));
  const auto fleet = TRY(Fleet::Join(*loop, kWorkers));
  const auto server =
      TRY(dispatcher::Serve({.connections_max = kConnectionsMax}, *loop));
  TRY(lines.Tell(base::StrCat(server->port())));
  TRY(lines.Tell(api::ToJson(fleet->NeedingBeat(kWorkers))));
  while (absl::IsDeadlineExceeded(lines.Hear().status())) {
  }
  return absl::OkStatus();
}

void DispatchInChild(Lines& lines) {
  const absl::Status status = Dispatch(lines);
  if (!status.ok()) lines.Tell(status.ToString()).IgnoreError();
}

// All who beat, each with a connection of its own.
class Beating {
 public:
  static absl::StatusOr<std::unique_ptr<Beating>> Start(
      const http::Address& dispatcher, const api::ConsumerBeat& consumer) {
    std::unique_ptr<Beating> beating(new Beating(dispatcher));
    beating->client_ = TRY(
        http::Client::Make({.idle_connections_max = static_cast<int>(kWorkers) + 1}));
    for (int64_t worker = 1; worker <= kWorkers; ++worker) {
      beating->Beat<api::WorkerNews>("/v1/workers/beat",
                                     api::WorkerBeat{.worker = worker});
    }
    beating->Beat<api::ConsumerNews>("/v1/consumers/beat", consumer);
    return beating;
  }

  ~Beating() {
    ending_ = true;
    client_.reset();
  }

  Beating(const Beating&) = delete;
  Beating& operator=(const Beating&) = delete;

  int64_t beats() const { return beats_; }

  int64_t failed() const { return failed_; }

 private:
  explicit Beating(http::Address dispatcher) : dispatcher_(std::move(dispatcher)) {}

  // What has changed since the last beat: a worker's lane has come further.
  static void Advance(api::WorkerBeat& beat, const api::WorkerNews& news) {
    const int64_t rows = beat.lanes.empty() ? 0 : beat.lanes.front().rows + 1;
    beat.lanes.clear();
    for (const api::AssignedLane& lane : news.assigned) {
      beat.lanes.push_back({.job = lane.job,
                            .incarnation = lane.incarnation,
                            .at = lane.at,
                            .rows = rows});
    }
  }

  static void Advance(api::ConsumerBeat& beat, const api::ConsumerNews& /*news*/) {
    ++beat.taken;
  }

  template <typename News, typename Request>
  void Beat(const char* path, Request beat) {
    beat.wait_ms = kBeatMs;
    client_->Start(
        {.address = dispatcher_, .path = path, .body = api::ToJson(beat)},
        [this, path, beat](const absl::StatusOr<http::Response>& response) mutable {
          if (ending_) return;
          ++beats_;
          const absl::StatusOr<News> news =
              response.ok() ? api::FromJson<News>(response->body) : response.status();
          if (!news.ok()) ++failed_;
          if (news.ok()) {
            beat.version = news->version;
            Advance(beat, *news);
          }
          Beat<News>(path, std::move(beat));
        });
  }

  const http::Address dispatcher_;
  std::atomic<bool> ending_ = false;
  std::atomic<int64_t> beats_ = 0;
  std::atomic<int64_t> failed_ = 0;
  std::unique_ptr<http::Client> client_;
};

}  // namespace

absl::StatusOr<std::vector<Line>> RunServiceHeartbeats(const BenchOptions& options) {
  AllowConnections();
  const auto child = TRY(ChildProcess::Start(DispatchInChild));
  int port = 0;
  const std::string told = TRY(child->lines().Hear());
  if (!absl::SimpleAtoi(told, &port)) return absl::UnavailableError(told);
  const auto consumer =
      TRY(api::FromJson<api::ConsumerBeat>(TRY(child->lines().Hear())));
  const auto beating = TRY(Beating::Start({"127.0.0.1", port}, consumer));
  base::Clock& clock = base::RealClock();
  const absl::Duration time = absl::Seconds(options.quick ? 2 : 10);
  clock.WaitFor(absl::Seconds(3), std::stop_token());
  const absl::Duration begin = clock.Monotonic();
  const double cpu = CpuSecondsOf(child->process());
  const int64_t beats = beating->beats();
  clock.WaitFor(time, std::stop_token());
  const double seconds = absl::ToDoubleSeconds(clock.Monotonic() - begin);
  const double used = CpuSecondsOf(child->process()) - cpu;
  if (beating->failed() > 0) {
    return absl::UnavailableError(
        base::StrCat(beating->failed(), " heartbeats were not answered"));
  }
  const double rate = static_cast<double>(beating->beats() - beats) / seconds;
  return std::vector<Line>{
      {.name = "dispatcher of 1,000 workers at 1 Hz",
       .unit = base::StrCat("cores, at ", static_cast<int64_t>(rate), " beats/s"),
       .ours = used / seconds,
       .limit = 1,
       .limit_is = "one core",
       .bar = 0.2,
       .at_most = true}};
}

}  // namespace millrace::bench
