#include "millrace/worker/plans.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/job_pipeline.h"
#include "millrace/api/json.h"
#include "millrace/api/listing.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/exec/copies.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/listing.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::worker {

Objects ObjectsOf(http::Client& client, const http::Address& dispatcher,
                  const std::stop_token& ending) {
  const auto call = [&client, dispatcher, ending](const std::string& path,
                                                  std::string body) {
    return client.CallAndWait(
        {.address = dispatcher, .path = path, .body = std::move(body)}, ending);
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

absl::StatusOr<exec::PassOptions> Plans::OptionsOf(const api::WorkerJob& job,
                                                   int64_t pass) {
  lanes::Listing listing;
  if (!job.manifest.empty()) {
    listing = TRY(api::ListingFromJson(TRY(objects_.get(job.manifest))));
  }
  const std::string& cut = job.state.empty() ? job.cuts : job.state;
  std::vector<lanes::CutRecord> cuts = TRY(api::CutsFromJson(cut));
  return exec::PassOfJob(static_cast<uint64_t>(job.seed), pass, std::move(listing),
                         std::move(cuts));
}

absl::StatusOr<rewrite::Rewritten> Plans::PipelineOf(const api::WorkerJob& job) {
  const std::pair key(job.pipeline, job.copies);
  const auto found = pipelines_.find(key);
  if (found != pipelines_.end()) return found->second;
  const ir::PipelineText text = TRY(api::UnpackPipeline(job.pipeline, objects_.get));
  const ir::Pipeline written =
      TRY(ir::Parse(text.text, text.attachments, library_.catalog()));
  const ir::Pipeline pipeline =
      TRY(exec::Copied(written, job.copies, library_.catalog()));
  if (functions_ == Functions::kRefused && exec::CallsPython(pipeline)) {
    return absl::PermissionDeniedError(
        "the pipeline has Python functions, and this worker was not started with "
        "--allow-python");
  }
  rewrite::Rewritten rewritten = TRY(rewrite::Rewrite(pipeline, library_.catalog()));
  return pipelines_.emplace(key, std::move(rewritten)).first->second;
}

// How a job's sources are cut that goes on from no state.
absl::StatusOr<std::string> Plans::CutsOf(const rewrite::Rewritten& pipeline,
                                          const api::WorkerJob& job,
                                          const exec::LanePlan& listed) {
  if (job.state.empty()) return api::CutsToJson(listed.Facts().cuts);
  const exec::PassOptions options = exec::PassOfJob(static_cast<uint64_t>(job.seed), 0,
                                                    listed.listing(), /*cuts=*/{});
  const std::shared_ptr<exec::LanePlan> plan =
      TRY(engine_.PlanLanes(pipeline, library_, options));
  return api::CutsToJson(plan->Facts().cuts);
}

// What jobs that share their rows have in common, and how batches may be cut for them.
absl::Status Plans::SetSharing(const rewrite::Rewritten& pipeline,
                               const api::WorkerJob& job, const exec::LanePlan& listed,
                               api::JobFacts& facts) {
  const exec::JobFacts found = listed.Facts();
  facts.rows_hash = base::ToHex(base::Sha256Of(base::StrCat(
      found.resizable ? "rows " : "batches ",
      base::ToHex(found.resizable ? found.row_fingerprint : found.fingerprint), " ",
      facts.manifest)));
  facts.cuts = TRY(CutsOf(pipeline, job, listed));
  if (found.resizable) {
    facts.joins = found.join->batch_rows;
  } else if (found.join) {
    facts.grid = found.join->batch_rows;
  }
  return absl::OkStatus();
}

absl::StatusOr<api::JobFacts> Plans::List(const api::WorkerJob& job) {
  const rewrite::Rewritten pipeline = TRY(PipelineOf(job));
  const std::shared_ptr<exec::LanePlan> plan =
      TRY(engine_.PlanLanes(pipeline, library_, TRY(OptionsOf(job, 0))));
  const exec::JobFacts found = plan->Facts();
  const std::string listing = api::ListingToJson(plan->listing());
  api::JobFacts facts;
  facts.manifest = base::ToHex(base::Sha256Of(listing));
  TRY(objects_.put(facts.manifest, listing));
  facts.lanes = found.lanes.value_or(-1);
  facts.counted = !found.lane_rows.empty() || found.lanes == 0;
  facts.batch_rows = found.join ? found.join->batch_rows : 1;
  facts.lane_bytes = found.lane_bytes;
  facts.python = found.calls_python;
  const bool runs = found.join && found.join->runs;
  if (runs) facts.group = found.join->runs->group;
  facts.drop_remainder = found.join && found.join->drop_remainder;
  if (!runs) TRY(SetSharing(pipeline, job, *plan, facts));
  if (found.lanes && facts.counted) {
    facts.rows =
        std::accumulate(found.lane_rows.begin(), found.lane_rows.end(), int64_t{0});
  }
  return facts;
}

absl::StatusOr<std::shared_ptr<exec::LanePlan>> Plans::Plan(const api::WorkerJob& job,
                                                            int64_t pass) {
  const rewrite::Rewritten pipeline = TRY(PipelineOf(job));
  return engine_.PlanLanes(pipeline, library_, TRY(OptionsOf(job, pass)));
}

}  // namespace millrace::worker
