// millrace explain: what a pipeline is, how it will run, and why.

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/base/status.h"
#include "millrace/cli/pipeline_file.h"
#include "millrace/cli/verb.h"
#include "millrace/exec/explain_lanes.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> off;
  bool text = false;
};

absl::Status Explain(const Options& options) {
  const rewrite::Rewritten rewritten = TRY(ReadPipeline(options.file, options.off));
  if (options.text) {
    std::cout << ir::Print(rewritten.after).text;
    return absl::OkStatus();
  }
  std::cout << exec::ExplainPass(rewritten, ops::DefaultLibrary());
  return absl::OkStatus();
}

}  // namespace

Verb ExplainVerb() {
  return {"explain", "Show what a pipeline is, how it will run, and why",
          [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            command
                .add_option("FILE", options->file,
                            "A pipeline in text form; - for standard input")
                ->required();
            command.add_option("--off", options->off,
                               "A rewrite to leave out, or 'all'; may be repeated");
            command.add_flag("--text", options->text,
                             "Only the rewritten pipeline, in canonical text");
            command.footer(
                "A pipeline in text form looks like this:\n\n"
                "  %0 = range(stop=1000)\n"
                "  %1 = map(%0, function={x: .value * 2, noise: uniform(0.0, 1.0)})\n"
                "  %2 = filter(%1, predicate={.noise < 0.5})\n"
                "  %3 = batch(%2, size=32)\n\n"
                "With the Python package FILE may also be a Python file that defines a "
                "dataset:\n  millrace explain train.py");
            return [options] { return Explain(*options); };
          }};
}

}  // namespace millrace::cli
