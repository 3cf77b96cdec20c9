// millrace jobs: what a dispatcher knows of jobs.

#include <iostream>
#include <memory>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/api/json.h"
#include "millrace/api/operations.h"
#include "millrace/base/status.h"
#include "millrace/cli/dispatcher_calls.h"
#include "millrace/cli/status_view.h"
#include "millrace/cli/verb.h"

namespace millrace::cli {
namespace {

struct Options {
  DispatcherFlags dispatcher;
  bool json = false;
};

absl::Status Show(const Options& options) {
  DispatcherCalls calls = TRY(DispatcherCalls::Make(options.dispatcher));
  const api::JobList list = TRY(calls.Jobs());
  std::cout << (options.json ? api::ToJson(list) + "\n" : ShowJobs(list));
  return absl::OkStatus();
}

}  // namespace

Verb JobsVerb() {
  return {
      "jobs", "Show the jobs of a service: what each does or waits for, and how fast",
      [](CLI::App& command) {
        const auto options = std::make_shared<Options>();
        command.add_flag("--json", options->json, "For programs, not for people");
        AddDispatcherFlags(command, options->dispatcher);
        command.footer(
            "batches/s is over the last seconds, for all consumers together; left out "
            "are rows that filled\nno round (remainder=\"drop\"); lanes are those "
            "being "
            "run, of all that a pass has. Below the\ntable stand consumers that wait "
            "for "
            "a batch,\nand how jobs that read the same rows share them: rows that "
            "were made for a job, that it had\nof others, that were made again for it "
            "because they had fallen out of windows, and that it\ndid without.\n\n"
            "Examples:\n"
            "  millrace jobs\n"
            "  millrace jobs --dispatcher train-0:7171 --json | jq '.jobs[].state'");
        return [options] { return Show(*options); };
      },
      true};
}

}  // namespace millrace::cli
