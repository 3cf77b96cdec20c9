// millrace run: runs a pipeline and shows its first blocks and its speed.

#include <absl/time/time.h>

#include <cstdint>
#include <iostream>
#include <memory>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/base/status.h"
#include "millrace/cli/pipeline_file.h"
#include "millrace/cli/run_on_service.h"
#include "millrace/cli/run_pass.h"
#include "millrace/cli/verb.h"
#include "millrace/core/block.h"
#include "millrace/profile/facts.h"
#include "millrace/profile/table.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {
namespace {

struct Options {
  PassFlags pass;
  JobFlags job;
  int64_t show = 1;
  bool quiet = false;
};

absl::Status RunJob(const Options& options, const rewrite::Rewritten& pipeline) {
  int64_t batches = 0;
  TRY(RunOnService(pipeline.before, options.job, options.pass.blocks,
                   [&](const core::Block& block) {
                     if (batches++ < options.show) {
                       std::cout << block.ToString() << "\n";
                     }
                   }));
  std::cout << batches << " batches\n";
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  const rewrite::Rewritten pipeline =
      TRY(ReadPipeline(options.pass.file, options.pass.off));
  if (!options.job.service.empty()) return RunJob(options, pipeline);
  int64_t shown = 0;
  const profile::PassFacts facts =
      TRY(RunPass(pipeline, options.pass, [&](const core::Block& block) {
        if (shown++ < options.show) std::cout << block.ToString() << "\n";
      }));
  const double seconds = absl::ToDoubleSeconds(facts.wall);
  const double rate = seconds > 0 ? static_cast<double>(facts.rows) / seconds : 0;
  std::cout << facts.rows << " rows in " << facts.blocks << " blocks\n"
            << profile::ShowLeftOut(facts);
  if (options.quiet) return absl::OkStatus();
  std::cerr << profile::ShowRate(rate) << " with " << facts.threads << " threads\n";
  return absl::OkStatus();
}

}  // namespace

Verb RunVerb() {
  return {"run", "Run a pipeline; show its first blocks and its speed",
          [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            AddPassFlags(command, options->pass);
            AddJobFlags(command, options->job);
            command.add_option("--blocks", options->pass.blocks,
                               "Stop after so many blocks (batches)");
            command.add_option("--show", options->show,
                               "How many blocks to show; 1 by default");
            command.add_flag("--quiet", options->quiet, "Do not tell the speed");
            command.footer(
                "With the Python package FILE may also be a Python file that defines a "
                "dataset:\n  millrace run train.py\n\n"
                "Examples:\n"
                "  millrace run pipeline.txt --threads 4 --blocks 100\n"
                "  millrace run pipeline.txt --service 127.0.0.1:7171 --job mine");
            return [options] { return Run(*options); };
          },
          true};
}

}  // namespace millrace::cli
