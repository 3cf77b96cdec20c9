// How a consumer opens a job: finds the dispatcher, brings the pipeline and what stands
// beside it, waits for the others of its run and for a worker that lists the sources.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "millrace/adapters/http/client.h"
#include "millrace/api/service.h"
#include "millrace/client/consumer.h"
#include "millrace/ir/pipeline.h"

namespace millrace::client {

struct OpenedPipeline {
  api::OpenedJob job = {};
  std::string listing = {};  // What was listed for it, as api/listing.h has it.
};

// Waits, as long as the options allow and do not ask to stop.
absl::StatusOr<OpenedPipeline> OpenJob(http::Client& client,
                                       const ir::Pipeline& pipeline,
                                       const ConsumerOptions& options);

}  // namespace millrace::client
