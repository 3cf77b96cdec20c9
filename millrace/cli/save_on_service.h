// Saves a pipeline's rows by the workers of a service, as `millrace save --service`
// does, and shows on a terminal how far it is.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/cli/service_flags.h"
#include "millrace/client/save.h"
#include "millrace/ir/pipeline.h"

namespace millrace::cli {

struct SaveJobFlags {
  std::string service;  // HOST:PORT of the dispatcher; empty: this process.
  ServiceFlags flags;
};

// What is to be saved where.
struct SaveJob {
  std::string folder;
  std::string format;
  bool replace = false;
  int64_t seed = 0;
};

absl::StatusOr<client::SaveProgress> SaveOnService(const ir::Pipeline& pipeline,
                                                   const SaveJob& job,
                                                   const SaveJobFlags& flags);

// "lane 12 of 160, 1.2 GiB, 34 s left": how far it is after so long.
std::string ShowProgress(const client::SaveProgress& progress, absl::Duration since);

}  // namespace millrace::cli
