// Reads a pass of a pipeline from a service, as `millrace run --service` does.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "millrace/cli/service_flags.h"
#include "millrace/core/block.h"
#include "millrace/ir/pipeline.h"

namespace CLI {  // NOLINT(readability-identifier-naming): of CLI11.
class App;
}  // namespace CLI

namespace millrace::cli {

struct JobFlags {
  std::string service;  // HOST:PORT of the dispatcher; empty: this process.
  std::string job;
  std::string sharding = "dynamic";  // Or "static".
  ServiceFlags flags;
};

void AddJobFlags(CLI::App& command, JobFlags& flags);

// Shows so many batches of a pass, or all, to `see`.
absl::Status RunOnService(const ir::Pipeline& pipeline, const JobFlags& flags,
                          int64_t batches,
                          absl::FunctionRef<void(const core::Block&)> see);

}  // namespace millrace::cli
