// millrace worker: a process that runs lanes of jobs.

#include "millrace/worker/worker.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/adapters/http/exchange.h"
#include "millrace/base/status.h"
#include "millrace/cli/service_flags.h"
#include "millrace/cli/verb.h"
#include "millrace/exec/machine.h"

namespace millrace::cli {
namespace {

struct Options {
  std::string join;
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> tags;
  int threads = exec::AvailableThreads();
  int64_t memory_bytes = exec::DefaultMemoryBytes();
  ServiceFlags service;
};

absl::Status Work(const Options& options) {
  HoldSignals();
  worker::WorkerOptions worker_options;
  worker_options.dispatcher = TRY(ReadAddress(options.join));
  worker_options.server = TRY(ServerOptionsOf(options.listen, options.service));
  worker_options.client = TRY(ClientOptionsOf(options.service));
  worker_options.engine.threads = options.threads;
  worker_options.engine.memory_bytes = options.memory_bytes;
  worker_options.tags = options.tags;
  const std::unique_ptr<worker::Worker> worker =
      TRY(worker::Worker::Start(worker_options));
  std::cout << "worker listens on "
            << http::ToString(http::Address{worker_options.server.host, worker->port()})
            << std::endl;
  while (!SignalCame()) {
  }
  return absl::OkStatus();
}

}  // namespace

Verb WorkerVerb() {
  return {"worker", "Join a dispatcher, and run the work it deals",
          [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            command
                .add_option("--join", options->join,
                            "HOST:PORT of the dispatcher, which may come later")
                ->envname("MILLRACE_JOIN")
                ->required();
            command
                .add_option("--listen", options->listen,
                            "HOST:PORT that readers find it at; 127.0.0.1 and any port "
                            "that is free by default")
                ->envname("MILLRACE_WORKER_LISTEN");
            command
                .add_option("--tag", options->tags,
                            "A word that jobs may ask workers to have; may be repeated")
                ->envname("MILLRACE_TAGS");
            command
                .add_option("--threads", options->threads,
                            "That compute; by default as many as this process may use")
                ->check(CLI::Range(1, 4096))
                ->envname("MILLRACE_THREADS");
            command
                .add_option("--memory", options->memory_bytes,
                            "For what is in work or ready, as in 512MB or 2GB; by "
                            "default a quarter of what there is")
                ->transform(CLI::AsSizeValue(false))
                ->check(CLI::PositiveNumber)
                ->envname("MILLRACE_MEMORY");
            AddServiceFlags(command, options->service);
            return [options] { return Work(*options); };
          }};
}

}  // namespace millrace::cli
