#include "millrace/cli/run_on_service.h"

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/adapters/http/exchange.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/service_flags.h"
#include "millrace/client/consumer.h"
#include "millrace/core/block.h"
#include "millrace/ir/pipeline.h"

namespace millrace::cli {

void AddJobFlags(CLI::App& command, JobFlags& flags) {
  command
      .add_option("--service", flags.service,
                  "HOST:PORT of a dispatcher whose workers run it, instead of this "
                  "process")
      ->envname("MILLRACE_SERVICE");
  command.add_option("--job", flags.job,
                     "Name of the job on the service; by default one of its own");
  command
      .add_option("--sharding", flags.sharding,
                  "On a service: dynamic, any worker runs any part; static, each part "
                  "is run by the worker of its index (`millrace worker --index`); off, "
                  "each worker gives all rows, in any order")
      ->check(CLI::IsMember({"dynamic", "static", "off"}))
      ->capture_default_str();
  AddServiceFlags(command, flags.flags);
}

absl::Status RunOnService(const ir::Pipeline& pipeline, const JobFlags& flags,
                          int64_t batches,
                          absl::FunctionRef<void(const core::Block&)> see) {
  client::ConsumerOptions options;
  options.dispatcher = TRY(http::ReadAddress(flags.service));
  options.client = TRY(ClientOptionsOf(flags.flags));
  options.settings.name =
      flags.job.empty() ? base::StrCat("run-", getpid()) : flags.job;
  options.settings.sharding = flags.sharding;
  if (flags.sharding == "off") options.settings.order = "any";
  const std::unique_ptr<client::Consumer> consumer =
      TRY(client::Consumer::Open(pipeline, options));
  for (int64_t i = 0; i < batches; ++i) {
    const std::optional<core::Block> batch = TRY(consumer->Next());
    if (!batch) return absl::OkStatus();
    see(*batch);
  }
  return absl::OkStatus();
}

}  // namespace millrace::cli
