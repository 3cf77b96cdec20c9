// millrace bench: what the engine reaches, beside what the hardware gives.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/line.h"
#include "millrace/bench/sample_data.h"
#include "millrace/bench/workload.h"
#include "millrace/cli/verb.h"
#include "millrace/exec/machine.h"

namespace millrace::cli {
namespace {

struct Options {
  std::string suite = "engine";
  std::vector<std::string> only;
  bench::BenchOptions bench = {
      .folder = "", .threads = exec::AvailableThreads(), .repeats = 5};
  bool json = false;
};

// Those of a suite.
std::vector<bench::Workload> WorkloadsOf(const std::string& suite) {
  std::vector<bench::Workload> workloads;
  std::ranges::copy_if(
      bench::Workloads(), std::back_inserter(workloads),
      [&](const bench::Workload& workload) { return workload.suite == suite; });
  return workloads;
}

absl::Status CheckNames(const Options& options) {
  const std::vector<bench::Workload> workloads = WorkloadsOf(options.suite);
  std::string names;
  for (const bench::Workload& workload : workloads) names += " " + workload.name;
  for (const std::string& name : options.only) {
    if (std::ranges::find(workloads, name, &bench::Workload::name) != workloads.end()) {
      continue;
    }
    return absl::InvalidArgumentError(
        base::StrCat("there is no workload ", name, "; there are:", names));
  }
  return absl::OkStatus();
}

// A folder of this run's own, among the temporary files.
std::string OwnFolder() {
  std::error_code no_such_folder;  // Then making ours below it says what is wrong.
  const std::filesystem::path all =
      std::filesystem::temp_directory_path(no_such_folder);
  return (all / base::StrCat("millrace-bench-", getpid())).string();
}

absl::Status Bench(Options options) {
  if (options.suite == "python") {
    return absl::FailedPreconditionError(
        "bench python measures the Python package, and belongs to the command that the "
        "package installs: `millrace bench python`, options behind it");
  }
  TRY(CheckNames(options));
  const bool is_own = options.bench.folder.empty();
  if (is_own) options.bench.folder = OwnFolder();
  TRY(bench::MakeFolder(options.bench.folder));
  const absl::Cleanup remove = [&] {
    std::error_code ignored;
    if (is_own) std::filesystem::remove_all(options.bench.folder, ignored);
  };
  std::vector<bench::Line> lines;
  for (const bench::Workload& workload : WorkloadsOf(options.suite)) {
    const bool wanted =
        options.only.empty() ||
        std::ranges::find(options.only, workload.name) != options.only.end();
    if (!wanted) continue;
    std::cerr << "running " << workload.name << "\n";
    for (bench::Line& line : TRY(workload.run(options.bench))) {
      lines.push_back(std::move(line));
    }
  }
  std::cout << (options.json ? bench::ToJson(lines) : bench::ToTable(lines));
  return absl::OkStatus();
}

}  // namespace

Verb BenchVerb() {
  return {
      "bench", "Measure the engine beside the limits of this machine",
      [](CLI::App& command) {
        const auto options = std::make_shared<Options>();
        command
            .add_option("SUITE", options->suite,
                        "Which benchmarks: engine, breadth (formats, kernels "
                        "and operators beside other systems), service (dispatcher, "
                        "workers and consumers on this machine, beside plain TCP), "
                        "sharing (what a service does once for many), "
                        "or python (the Python package beside torch; `bench python "
                        "--help` has its options)")
            ->check(
                CLI::IsMember({"engine", "breadth", "service", "sharing", "python"}));
        command.add_option("--only", options->only,
                           "A workload to run; may be repeated");
        command
            .add_option("--threads", options->bench.threads,
                        "That compute; by default as many as this process has")
            ->check(CLI::Range(1, 4096));
        command
            .add_option("--repeats", options->bench.repeats,
                        "Medians are of so many runs; 5 by default")
            ->check(CLI::Range(1, 1000));
        command.add_option("--folder", options->bench.folder,
                           "For the data, kept for the next run; by default one "
                           "for temporary files, removed at the end");
        command.add_option("--python", options->bench.python,
                           "The Python that other systems are installed for; those "
                           "that are not are not measured");
        command.add_flag("--quick", options->bench.quick,
                         "Of bench service: a look at each, with less of "
                         "everything; noisier");
        command.add_flag("--json", options->json, "For programs");
        command.footer(
            "Each line has what is reached, what could be, their ratio and its bar; "
            "MISS where it is missed.\n"
            "Examples:\n"
            "  millrace bench engine --only images --threads 2\n"
            "  millrace bench service --quick --repeats 1\n"
            "  millrace bench service --only stream --only workers");
        return [options] { return Bench(*options); };
      }};
}

}  // namespace millrace::cli
