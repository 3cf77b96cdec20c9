// millrace dispatcher: the process that holds the state of jobs and decides.

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <CLI/CLI.hpp>

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/server.h"
#include "millrace/api/operations.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/service_flags.h"
#include "millrace/cli/service_manager.h"
#include "millrace/cli/verb.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/dispatcher/server.h"
#include "millrace/metadata/embedded_store.h"
#include "millrace/metadata/memory_store.h"
#include "millrace/metadata/metadata_store.h"

namespace millrace::cli {
namespace {

struct Options {
  std::string listen = "127.0.0.1:7171";
  std::string state;
  ServiceFlags service;
};

absl::StatusOr<std::unique_ptr<metadata::MetadataStore>> OpenStore(
    const std::string& folder) {
  if (!folder.empty()) {
    std::error_code ignored;  // The store says what is wrong with the folder.
    std::filesystem::create_directories(folder, ignored);
    return TRY(metadata::EmbeddedStore::Open(folder));
  }
  std::cerr << "No --state: jobs are forgotten when this process ends.\n";
  return std::make_unique<metadata::MemoryStore>();
}

// Waits for a signal, or for a failure. The watchdog hears of a loop that answers.
absl::Status WaitForTheEnd(dispatcher::Loop& loop, ServiceManager& manager) {
  while (!SignalCame()) {
    if (loop.ended()) return loop.WaitForFailure({});
    if (!manager.IsDue(base::RealClock().Monotonic())) continue;
    loop.Ask(api::GetStatus{}, [&](const absl::StatusOr<api::ServiceStatus>& told) {
      if (told.ok()) manager.Alive();
    });
  }
  return absl::OkStatus();
}

absl::Status Dispatch(const Options& options) {
  HoldSignals();
  ServiceManager manager;
  TRY(MakeToken(options.service));
  const http::ServerOptions server =
      TRY(ServerOptionsOf(options.listen, options.service));
  const std::unique_ptr<metadata::MetadataStore> store = TRY(OpenStore(options.state));
  dispatcher::LoopOptions loop_options;
  loop_options.control.has_token = !server.token.empty();
  loop_options.seed = uint64_t{std::random_device{}()} << 32 | std::random_device{}();
  const std::unique_ptr<dispatcher::Loop> loop =
      TRY(dispatcher::Loop::Start(*store, loop_options));
  const std::unique_ptr<http::Server> serving = TRY(dispatcher::Serve(server, *loop));
  const std::string listens = base::StrCat(
      "listens on ", http::ToString(http::Address{server.host, serving->port()}));
  std::cout << "dispatcher " << listens << std::endl;
  manager.Ready(listens);
  const absl::Status status = WaitForTheEnd(*loop, manager);
  manager.Ending();
  return status;
}

}  // namespace

Verb DispatcherVerb() {
  return {"dispatcher", "Serve jobs: deal their work to workers that join",
          [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            command
                .add_option("--listen", options->listen,
                            "Where to serve; 127.0.0.1:7171 by default, port 0: any "
                            "that is free. Others than this machine are served only "
                            "with TLS and a token")
                ->type_name("HOST:PORT");
            command
                .add_option("--state", options->state,
                            "A folder that jobs are kept in, so that they survive this "
                            "process")
                ->type_name("FOLDER");
            AddServiceFlags(command, options->service);
            command.footer(
                "Serves calls of HTTP + JSON (/v1/openapi.json), /healthz, /readyz and "
                "/metrics. Ends on\nSIGTERM and Ctrl-C; tells systemd how it is "
                "(Type=notify, WatchdogSec=).\n\n"
                "Example, in three terminals:\n"
                "  millrace dispatcher --state jobs\n"
                "  millrace worker --join 127.0.0.1:7171\n"
                "  millrace run pipeline.txt --service 127.0.0.1:7171 --job mine\n"
                "The same from a file with listen = ..., state = ...:\n"
                "  millrace dispatcher --config /etc/millrace.toml");
            return [options] { return Dispatch(*options); };
          },
          true};
}

}  // namespace millrace::cli
