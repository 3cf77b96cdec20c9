// millrace local: a whole service on this machine, for development.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <CLI/CLI.hpp>

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/child.h"
#include "millrace/cli/command.h"
#include "millrace/cli/service_flags.h"
#include "millrace/cli/verb.h"
#include "millrace/exec/machine.h"

namespace millrace::cli {
namespace {

constexpr absl::Duration kStartWithin = absl::Seconds(60);
constexpr absl::Duration kLeaveWithin = absl::Seconds(2);
constexpr absl::Duration kEndWithin = absl::Seconds(5);

struct Options {
  int workers = 2;
  std::string listen = "127.0.0.1:7171";
  std::string state;
  int threads = 0;           // Of each worker; 0: those of the machine, shared.
  int64_t memory_bytes = 0;  // The same.
  bool allow_python = false;
  ServiceFlags service;
};

// What is said to this process alone.
const std::vector<std::string>& NotForChildren() {
  static const auto& names = *new std::vector<std::string>{
      "MILLRACE_CONFIG", "MILLRACE_STATE", "NOTIFY_SOCKET", "WATCHDOG_USEC"};
  return names;
}

struct Member {
  std::string name = {};  // "worker 2".
  std::string address = {};
  std::unique_ptr<Child> child = nullptr;
  bool told = false;  // That it has ended.
};

std::vector<std::string> ServiceWords(const ServiceFlags& flags) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (!value.empty()) words.push_back(base::StrCat(flag, "=", value));
  };
  add("--token-file", flags.token_file);
  add("--certificate", flags.tls.certificate_file);
  add("--key", flags.tls.key_file);
  add("--ca", flags.tls.ca_file);
  return words;
}

std::vector<std::string> DispatcherWords(const Options& options) {
  std::vector<std::string> words = {"dispatcher", "--listen=" + options.listen};
  if (!options.state.empty()) words.push_back("--state=" + options.state);
  return words;
}

std::vector<std::string> WorkerWords(const Options& options,
                                     const std::string& dispatcher) {
  const int threads = options.threads > 0
                          ? options.threads
                          : std::max(1, exec::AvailableThreads() / options.workers);
  const int64_t memory_bytes = options.memory_bytes > 0
                                   ? options.memory_bytes
                                   : exec::DefaultMemoryBytes() / options.workers;
  std::vector<std::string> words = {"worker", "--join=" + dispatcher,
                                    "--listen=127.0.0.1:0"};
  words.push_back(base::StrCat("--threads=", threads));
  words.push_back(base::StrCat("--memory=", memory_bytes));
  if (options.allow_python) words.emplace_back("--allow-python");
  return words;
}

// Starts a process of the service, and waits until it says where it listens.
absl::StatusOr<Member> Start(std::string name, const std::vector<std::string>& verb,
                             const ServiceFlags& flags) {
  std::vector<std::string> words = OwnWords();
  words.insert(words.end(), verb.begin(), verb.end());
  for (std::string& word : ServiceWords(flags)) words.push_back(std::move(word));
  Member member{std::move(name), "", TRY(Child::Start(words, NotForChildren()))};
  const absl::StatusOr<std::string> line = member.child->ReadLine(kStartWithin);
  if (!line.ok()) {
    return absl::UnavailableError(
        base::StrCat("the ", member.name, " did not start: ", line.status().message()));
  }
  member.address = line->substr(line->rfind(' ') + 1);
  return member;
}

void Tell(const Member& member, const std::string& how) {
  std::cerr << "millrace: " << member.name << " (process " << member.child->process()
            << ", " << member.address << ") " << how << "; it is not started again\n";
}

// Waits for a signal, and tells of each that ends before. An error: none is left that
// could go on.
absl::Status Watch(std::vector<Member>& members) {
  while (!SignalCame()) {
    int64_t workers = 0;
    for (Member& member : members) {
      const std::optional<std::string> ended = member.child->Ended();
      const bool is_dispatcher = &member == &members.front();
      if (ended && !std::exchange(member.told, true)) Tell(member, *ended);
      if (ended && is_dispatcher) {
        return absl::UnavailableError("the dispatcher has ended, and so do all");
      }
      workers += !ended && !is_dispatcher ? 1 : 0;
    }
    if (workers == 0) return absl::UnavailableError("no worker is left");
  }
  return absl::OkStatus();
}

bool HaveEnded(std::span<const Member> members, absl::Duration within) {
  base::Clock& clock = base::RealClock();
  const absl::Duration until = clock.Monotonic() + within;
  for (const Member& member : members) {
    while (!member.child->Ended()) {
      if (clock.Monotonic() >= until) return false;
      clock.WaitFor(absl::Milliseconds(10), {});
    }
  }
  return true;
}

// Asks them to end, and again, more urgently; those that do not are ended when they are
// dropped.
void End(std::span<const Member> members) {
  for (const absl::Duration within : {kLeaveWithin, kEndWithin}) {
    for (const Member& member : members) member.child->Ask();
    if (HaveEnded(members, within)) return;
  }
}

absl::Status Serve(const Options& options) {
  HoldSignals();
  if (options.allow_python) TRY(CheckTokenForPython(options.service));
  std::vector<Member> members;
  members.push_back(
      TRY(Start("dispatcher", DispatcherWords(options), options.service)));
  const std::string address = members.front().address;
  for (int i = 1; i <= options.workers; ++i) {
    members.push_back(TRY(Start(base::StrCat("worker ", i),
                                WorkerWords(options, address), options.service)));
  }
  std::cout << "local service listens on " << address << "\n"
            << options.workers << " workers; all end with this process (Ctrl-C)\n"
            << "In the training program:\n"
            << "  loader = dataset.distribute(\"millrace://" << address
            << "\", job=\"train\")\n"
            << "To watch it:\n"
            << "  millrace top --dispatcher " << address << std::endl;
  const absl::Status status = Watch(members);
  const std::span<const Member> all = members;
  End(all.subspan(1));  // Workers say that they leave, to a dispatcher that hears it.
  End(all.first(1));
  return status;
}

void AddWorkerFlags(CLI::App& command, Options& options) {
  command.add_option("--workers", options.workers, "How many; 2 by default")
      ->check(CLI::Range(1, 256));
  command
      .add_option("--threads", options.threads,
                  "Of each worker; by default they share those of this machine")
      ->check(CLI::Range(1, 4096));
  command
      .add_option("--memory", options.memory_bytes,
                  "Of each worker, as in 512MB or 2GB; by default they share a quarter "
                  "of what there is")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command.add_flag("--allow-python", options.allow_python,
                   "Run Python functions of jobs; needs a token");
}

}  // namespace

Verb LocalVerb() {
  return {"local", "Start a dispatcher and workers on this machine, for development",
          [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            AddWorkerFlags(command, *options);
            command
                .add_option("--listen", options->listen,
                            "Where the dispatcher serves; 127.0.0.1:7171 by default, "
                            "port 0: any that is free")
                ->type_name("HOST:PORT");
            command
                .add_option("--state", options->state,
                            "A folder that jobs are kept in for the next time; by "
                            "default they end with this process")
                ->type_name("FOLDER");
            AddServiceFlags(command, options->service);
            command.footer(
                "All are processes of their own, and end with this one, however it "
                "ends. One that ends\nby itself is told of, and not started again.\n\n"
                "Examples:\n"
                "  millrace local --workers 4\n"
                "  millrace local --token-file token --allow-python");
            return [options] { return Serve(*options); };
          },
          true};
}

}  // namespace millrace::cli
