#include "millrace/client/opening.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/machine_name.h"
#include "millrace/api/job_pipeline.h"
#include "millrace/api/json.h"
#include "millrace/api/route.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/client/consumer.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"

namespace millrace::client {
namespace {

constexpr int64_t kOpenPollMs = 5000;

// A name that no other process has: the run of who reads alone, without a launcher.
const std::string& ProcessName() {
  static const std::string* const name = new std::string(
      base::StrCat("process-", std::random_device{}(), "-", std::random_device{}()));
  return *name;
}

class Opening {
 public:
  Opening(http::Client& client, const ConsumerOptions& options)
      : client_(client), options_(options) {}

  absl::StatusOr<OpenedPipeline> Open(const ir::Pipeline& pipeline) {
    const api::PackedPipeline packed = TRY(api::PackPipeline(ir::Print(pipeline)));
    TRY(Reach());
    for (const api::PutObject& object : packed.objects) {
      TRY(Ask<api::Nothing>("/v1/objects", object).status());
    }
    OpenedPipeline opened{.job = TRY(WaitFor(RequestOf(packed.hash)))};
    const api::GetObject get{opened.job.facts.manifest};
    opened.listing = TRY(Ask<api::Object>("/v1/objects/get", get)).text;
    return opened;
  }

 private:
  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Ask(const char* path, const Request& request) {
    const http::Response response = TRY(client_.CallAndWait(
        {.address = options_.dispatcher, .path = path, .body = api::ToJson(request)},
        options_.stop));
    return api::FromJson<Reply>(response.body);
  }

  // Whether there is a dispatcher is known soon; only one that was there is waited for.
  absl::Status Reach() {
    http::Call call{.address = options_.dispatcher, .path = "/healthz"};
    call.method = "GET";
    call.within = options_.reach_within;
    const absl::Status reached = client_.CallAndWait(call, options_.stop).status();
    const bool nobody =
        absl::IsUnavailable(reached) || absl::IsDeadlineExceeded(reached);
    if (!nobody) return reached;
    const std::string address = http::ToString(options_.dispatcher);
    return absl::UnavailableError(
        base::StrCat("no dispatcher answers at ", address, " (", reached.message(),
                     "): start one with `millrace dispatcher --listen ", address, "`"));
  }

  api::OpenJob RequestOf(const std::string& pipeline) const {
    api::OpenJob open{.settings = options_.settings, .run = options_.run};
    const bool alone = options_.settings.consumers * options_.settings.members == 1;
    if (alone && open.run.id.empty()) open.run.id = ProcessName();
    if (open.run.host.empty()) open.run.host = http::MachineName();
    open.settings.pipeline = pipeline;
    open.consumer = options_.consumer;
    open.member = options_.member;
    open.resume = options_.resume;
    open.takeover = options_.takeover;
    if (options_.state) open.state = api::StateToJson(*options_.state);
    return open;
  }

  absl::StatusOr<api::OpenedJob> WaitFor(api::OpenJob open) {
    const absl::Time deadline = base::RealClock().Now() + options_.open_within;
    while (true) {
      const absl::Duration left = deadline - base::RealClock().Now();
      open.wait_ms =
          std::clamp<int64_t>(absl::ToInt64Milliseconds(left), 0, kOpenPollMs);
      api::OpenedJob job = TRY(Ask<api::OpenedJob>("/v1/jobs/open", open));
      if (job.ready) return job;
      if (open.opening == 0 && job.opening != 0) {
        open.opening = job.opening;
        continue;
      }
      if (base::RealClock().Now() < deadline) continue;
      return absl::DeadlineExceededError(base::StrCat("job \"", options_.settings.name,
                                                      "\" waits for ", job.waits_for));
    }
  }

  http::Client& client_;
  const ConsumerOptions& options_;
};

}  // namespace

absl::StatusOr<OpenedPipeline> OpenJob(http::Client& client,
                                       const ir::Pipeline& pipeline,
                                       const ConsumerOptions& options) {
  return Opening(client, options).Open(pipeline);
}

}  // namespace millrace::client
