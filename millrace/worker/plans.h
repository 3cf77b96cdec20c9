// The jobs of a dispatcher, as a worker runs them: their pipelines and listings are
// fetched by hash, and a plan is made for each pass. Fetching and planning take time,
// so a thread does them that has nothing else to do. One thread uses it at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/service.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::worker {

// Gives, or keeps, what has a hash.
struct Objects {
  std::function<absl::StatusOr<std::string>(const std::string& hash)> get;
  std::function<absl::Status(const std::string& hash, const std::string& text)> put;
};

// Those that a dispatcher keeps. Requires: the client outlives them.
Objects ObjectsOf(http::Client& client, const http::Address& dispatcher,
                  const std::stop_token& ending);

// Whether pipelines may bring Python functions, which can do whatever this process can.
enum class Functions : uint8_t { kRefused, kAllowed };

class Plans {
 public:
  // Engine and library outlive the plans.
  Plans(exec::Engine& engine, const ops::Library& library, Objects objects,
        Functions functions = Functions::kRefused)
      : engine_(engine),
        library_(library),
        objects_(std::move(objects)),
        functions_(functions) {}

  // Lists the sources of a job, and keeps what was found.
  absl::StatusOr<api::JobFacts> List(const api::WorkerJob& job);

  // Plans a pass of a job.
  absl::StatusOr<std::shared_ptr<exec::LanePlan>> Plan(const api::WorkerJob& job,
                                                       int64_t pass);

 private:
  absl::StatusOr<rewrite::Rewritten> PipelineOf(const api::WorkerJob& job);
  absl::StatusOr<std::string> CutsOf(const rewrite::Rewritten& pipeline,
                                     const api::WorkerJob& job,
                                     const exec::LanePlan& listed);
  absl::Status SetSharing(const rewrite::Rewritten& pipeline, const api::WorkerJob& job,
                          const exec::LanePlan& listed, api::JobFacts& facts);
  absl::StatusOr<exec::PassOptions> OptionsOf(const api::WorkerJob& job, int64_t pass);

  exec::Engine& engine_;
  const ops::Library& library_;
  Objects objects_;
  Functions functions_;
  // By hash, and how often a pass gives all rows.
  std::map<std::pair<std::string, int64_t>, rewrite::Rewritten> pipelines_;
};

}  // namespace millrace::worker
