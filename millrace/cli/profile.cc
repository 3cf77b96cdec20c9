// millrace profile: runs a pipeline for a while and says what it spends its time on.

#include <iostream>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include <CLI/CLI.hpp>

#include "millrace/base/status.h"
#include "millrace/cli/pipeline_file.h"
#include "millrace/cli/run_pass.h"
#include "millrace/cli/verb.h"
#include "millrace/profile/table.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {
namespace {

struct Options {
  PassFlags pass;
  double seconds = 5;
};

absl::Status Profile(const Options& options) {
  const rewrite::Rewritten pipeline =
      TRY(ReadPipeline(options.pass.file, options.pass.off));
  PassFlags flags = options.pass;
  flags.time = absl::Seconds(options.seconds);
  std::cout << profile::ToTable(TRY(RunPass(pipeline, flags)));
  return absl::OkStatus();
}

}  // namespace

Verb ProfileVerb() {
  return {"profile", "Run a pipeline for a while; show where time goes, and what to do",
          [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            AddPassFlags(command, options->pass);
            command
                .add_option("--seconds", options->seconds,
                            "For how long; 5 by default, less where the pass ends")
                ->check(CLI::PositiveNumber);
            command.footer(
                "With the Python package FILE may also be a Python file that defines a "
                "dataset:\n  millrace profile train.py");
            return [options] { return Profile(*options); };
          }};
}

}  // namespace millrace::cli
