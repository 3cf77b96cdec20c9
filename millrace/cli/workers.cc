// millrace workers: what a dispatcher knows of workers.

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
  const api::WorkerList list = TRY(calls.Workers());
  std::cout << (options.json ? api::ToJson(list) + "\n" : ShowWorkers(list));
  return absl::OkStatus();
}

}  // namespace

Verb WorkersVerb() {
  return {
      "workers", "Show the workers of a service: where they are, and how busy",
      [](CLI::App& command) {
        const auto options = std::make_shared<Options>();
        command.add_flag("--json", options->json, "For programs, not for people");
        AddDispatcherFlags(command, options->dispatcher);
        command.footer(
            "lanes are those being run, of those that it would run at once; heard is "
            "how long ago\nit last spoke; a worker that leaves finishes what it has "
            "begun, and takes no more.\n\n"
            "Examples:\n"
            "  millrace workers\n"
            "  millrace workers --dispatcher train-0:7171 --json | jq "
            "'.workers[].facts.host'");
        return [options] { return Show(*options); };
      },
      true};
}

}  // namespace millrace::cli
