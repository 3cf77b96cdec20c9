// millrace worker: a process that runs lanes of jobs.

#include "millrace/worker/worker.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <CLI/CLI.hpp>

#include "millrace/adapters/http/exchange.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/command.h"
#include "millrace/cli/service_flags.h"
#include "millrace/cli/service_manager.h"
#include "millrace/cli/verb.h"
#include "millrace/exec/machine.h"
#include "millrace/storage/roots.h"

namespace millrace::cli {
namespace {

struct Options {
  std::string join;
  std::string listen = "127.0.0.1:0";
  std::string advertise;
  std::string host_name;
  double drain_seconds = 30;
  int64_t index = 0;
  int64_t of = 0;
  std::vector<std::string> tags;
  int threads = exec::AvailableThreads();
  int64_t memory_bytes = exec::DefaultMemoryBytes();
  int64_t window_bytes = -1;  // A quarter of that.
  bool allow_python = false;
  std::string shared_memory = "on";
  std::vector<std::string> read_roots;
  std::vector<std::string> write_roots;
  ServiceFlags service;
};

// Files that jobs may name: on this machine alone all that this user may read; where
// others can send jobs, what somebody has said.
absl::Status BoundFiles(const Options& options, const worker::WorkerOptions& worker) {
  const bool is_bounded = !options.read_roots.empty() || !options.write_roots.empty();
  const bool is_private =
      IsThisMachine(worker.server.host) && IsThisMachine(worker.dispatcher.host);
  if (!is_bounded && is_private) return absl::OkStatus();
  if (!is_bounded) {
    return absl::FailedPreconditionError(
        "others can send jobs to this worker: say which files they may read, as in "
        "--read-root /data (or / for all), and where they may write caches, with "
        "--write-root");
  }
  storage::BoundProcessFiles(
      TRY(storage::Roots::Make(options.read_roots, options.write_roots)));
  return absl::OkStatus();
}

void AddRootFlags(CLI::App& command, Options& options) {
  command
      .add_option("--read-root", options.read_roots,
                  "A folder beneath which jobs may read files, links resolved; may "
                  "come again. Must be given where others than this machine take part")
      ->type_name("PATH_OR_URL")
      ->allow_extra_args(false);
  command
      .add_option("--write-root", options.write_roots,
                  "The same for files that jobs write: caches, indexes; none by "
                  "default where there is a --read-root")
      ->type_name("PATH_OR_URL")
      ->allow_extra_args(false);
}

// Functions can do whatever this process can: they come only from who has the token.
absl::Status AllowPython(const ServiceFlags& flags, worker::WorkerOptions& options) {
  if (!Python()) {
    return absl::FailedPreconditionError(
        "--allow-python: this program has no Python in it; install the Python package, "
        "and start the worker with its own `millrace`");
  }
  TRY(CheckTokenForPython(flags));
  options.allows_python = true;
  for (const auto& [name, version] : *Python()) {
    options.packages.push_back({name, version});
  }
  return absl::OkStatus();
}

// A host, or a host and a port.
absl::StatusOr<http::Address> ReadAdvertised(const std::string& text) {
  if (text.empty()) return http::Address{};
  absl::StatusOr<http::Address> with_port = http::ReadAddress(text);
  return with_port.ok() ? with_port : http::ReadAddress(base::StrCat(text, ":0"));
}

absl::Status CheckIndex(const Options& options) {
  const bool fits = options.of == 0 ? options.index == 0 : options.index < options.of;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("--index counts from 0 up to --of, which says how many such workers "
                   "there are: there is no worker ",
                   options.index, " of ", options.of));
}

absl::StatusOr<worker::WorkerOptions> WorkerOptionsOf(const Options& options) {
  TRY(CheckIndex(options));
  worker::WorkerOptions worker_options;
  worker_options.dispatcher = TRY(http::ReadAddress(options.join));
  worker_options.server = TRY(ServerOptionsOf(options.listen, options.service));
  worker_options.client = TRY(ClientOptionsOf(options.service));
  worker_options.advertise = TRY(ReadAdvertised(options.advertise));
  worker_options.host_name = options.host_name;
  worker_options.engine.threads = options.threads;
  worker_options.engine.memory_bytes = options.memory_bytes;
  worker_options.shares_memory = options.shared_memory == "on";
  worker_options.window_bytes =
      options.window_bytes < 0 ? options.memory_bytes / 4 : options.window_bytes;
  worker_options.tags = options.tags;
  worker_options.index = options.index;
  worker_options.of = options.of;
  TRY(BoundFiles(options, worker_options));
  if (options.allow_python) TRY(AllowPython(options.service, worker_options));
  return worker_options;
}

// Hands its lanes over before it goes; another signal ends it at once.
void Leave(worker::Worker& worker, absl::Duration within) {
  const absl::Time limit = base::RealClock().Now() + within;
  worker.Drain();
  while (!worker.drained() && base::RealClock().Now() < limit) {
    if (SignalCame()) return;
  }
  worker.Leave();
}

absl::Status Work(const Options& options) {
  HoldSignals();
  ServiceManager manager;
  const worker::WorkerOptions worker_options = TRY(WorkerOptionsOf(options));
  const std::unique_ptr<worker::Worker> worker =
      TRY(worker::Worker::Start(worker_options));
  const std::string listens = base::StrCat(
      "listens on ",
      http::ToString(http::Address{worker_options.server.host, worker->port()}));
  std::cout << "worker " << listens << std::endl;
  manager.Ready(listens);
  while (!SignalCame()) {
    if (!manager.IsDue(base::RealClock().Monotonic())) continue;
    worker->Ask([&](const worker::WorkerStatus&) { manager.Alive(); });
  }
  manager.Ending();
  Leave(*worker, absl::Seconds(options.drain_seconds));
  return absl::OkStatus();
}

void AddPlaceFlags(CLI::App& command, Options& options) {
  command
      .add_option("--listen", options.listen,
                  "HOST:PORT that it listens on; 127.0.0.1 and any port that is free "
                  "by default")
      ->envname("MILLRACE_WORKER_LISTEN");
  command
      .add_option(
          "--advertise", options.advertise,
          "HOST or HOST:PORT that readers find it at, where that is another; by "
          "default --listen's, or this machine's name where it listens on all "
          "interfaces")
      ->envname("MILLRACE_ADVERTISE");
  command
      .add_option("--host-name", options.host_name,
                  "The machine it is on, by which jobs tell local workers from remote "
                  "ones; by default its name. In containers: that of their host")
      ->envname("MILLRACE_HOST_NAME");
}

void AddMemoryFlags(CLI::App& command, Options& options) {
  command
      .add_option("--memory", options.memory_bytes,
                  "For what is in work or ready, as in 512MB or 2GB; by "
                  "default a quarter of what there is")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber)
      ->envname("MILLRACE_MEMORY");
  command
      .add_option(
          "--window-memory", options.window_bytes,
          "Besides, for what was made and other jobs that share it have not had "
          "yet; by default a quarter of --memory. Taken only while jobs share")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::NonNegativeNumber)
      ->envname("MILLRACE_WINDOW_MEMORY");
}

void AddLeavingFlags(CLI::App& command, Options& options) {
  command
      .add_option("--drain-seconds", options.drain_seconds,
                  "On SIGTERM or SIGINT: how long it may take to hand its work over to "
                  "other workers; a second signal ends it at once")
      ->check(CLI::Range(0.0, 86'400.0))
      ->envname("MILLRACE_DRAIN_SECONDS")
      ->capture_default_str();
}

void AddIndexFlags(CLI::App& command, Options& options) {
  command
      .add_option("--index", options.index,
                  "For jobs with static sharding: which of --of workers it is, from 0 "
                  "on; it runs every lane whose number, divided by --of, leaves that")
      ->check(CLI::NonNegativeNumber)
      ->envname("MILLRACE_WORKER_INDEX");
  command
      .add_option(
          "--of", options.of,
          "How many workers with an index there are; without it, this one takes "
          "no part in static sharding")
      ->check(CLI::NonNegativeNumber)
      ->envname("MILLRACE_WORKER_OF");
}

}  // namespace

Verb WorkerVerb() {
  return {
      "worker", "Join a dispatcher, and run the work it deals",
      [](CLI::App& command) {
        const auto options = std::make_shared<Options>();
        command
            .add_option("--join", options->join,
                        "HOST:PORT of the dispatcher, which may come later")
            ->envname("MILLRACE_JOIN")
            ->required();
        AddPlaceFlags(command, *options);
        command
            .add_option("--tag", options->tags,
                        "A word that jobs may ask workers to have; may be repeated")
            ->envname("MILLRACE_TAGS");
        command
            .add_option("--threads", options->threads,
                        "That compute; by default as many as this process may use")
            ->check(CLI::Range(1, 4096))
            ->envname("MILLRACE_THREADS");
        AddMemoryFlags(command, *options);
        command
            .add_flag("--allow-python", options->allow_python,
                      "Run Python functions of jobs; needs a token. Whoever has it "
                      "can do here what this process can")
            ->envname("MILLRACE_ALLOW_PYTHON");
        command
            .add_option("--shared-memory", options->shared_memory,
                        "Hand batches to readers of the same user on this machine "
                        "without copying them: on or off")
            ->check(CLI::IsMember({"on", "off"}))
            ->envname("MILLRACE_SHARED_MEMORY")
            ->capture_default_str();
        AddLeavingFlags(command, *options);
        AddIndexFlags(command, *options);
        AddRootFlags(command, *options);
        AddServiceFlags(command, options->service);
        command.footer(
            "Readers come to --listen, where /healthz, /readyz (it has joined) and "
            "/metrics are, too.\nOn SIGTERM and Ctrl-C it hands its work over and "
            "ends; tells systemd how it is "
            "(Type=notify, WatchdogSec=).\n\n"
            "Examples:\n"
            "  millrace worker --join 127.0.0.1:7171\n"
            "  millrace worker --join train-0:7171 --listen $(hostname):0 --read-root "
            "/data \\\n      --token-file token --certificate node.pem --key node.key "
            "--ca ca.pem\n"
            "  millrace worker --config /etc/millrace.toml --tag gpu");
        return [options] { return Work(*options); };
      },
      true};
}

}  // namespace millrace::cli
