// millrace save: runs a pipeline and saves its rows in files.

#include "millrace/exec/save.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/base/bytes.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/pipeline_file.h"
#include "millrace/cli/run_pass.h"
#include "millrace/cli/save_on_service.h"
#include "millrace/cli/service_flags.h"
#include "millrace/cli/verb.h"
#include "millrace/client/save.h"
#include "millrace/exec/engine.h"
#include "millrace/ops/library.h"
#include "millrace/profile/table.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {
namespace {

struct Options {
  PassFlags pass;
  SaveJobFlags job;
  std::string folder;
  std::string format = "frames";
  std::optional<int64_t> file_mebibytes;
  bool replace = false;
};

constexpr int64_t kFileMebibytes = 256;

void Tell(const std::string& what, int64_t bytes, const std::string& more,
          const std::string& folder) {
  std::cout << what << " files, " << base::ToString(base::Bytes(bytes)) << "\n"
            << more << "To read them: load(path=\"" << folder << "\")\n";
}

// The engines of the workers have flags of their own.
absl::Status SaveByWorkers(const Options& options) {
  if (options.file_mebibytes) {
    return absl::InvalidArgumentError(
        "--file-mebibytes is for saving in this process: on a service each lane "
        "becomes a file");
  }
  if (options.pass.epoch != 0) {
    return absl::InvalidArgumentError("on a service the pass of epoch 0 is saved");
  }
  const rewrite::Rewritten pipeline =
      TRY(ReadPipeline(options.pass.file, options.pass.off));
  const SaveJob job = {.folder = options.folder,
                       .format = options.format,
                       .replace = options.replace,
                       .seed = static_cast<int64_t>(options.pass.seed)};
  const client::SaveProgress saved =
      TRY(SaveOnService(pipeline.before, job, options.job));
  const std::string before =
      saved.before == 0 ? ""
                        : base::StrCat(saved.before, " files were there from before\n");
  Tell(base::StrCat(saved.rows, " rows in ", saved.done), saved.bytes, before,
       options.folder);
  return absl::OkStatus();
}

absl::Status Save(const Options& options) {
  const rewrite::Rewritten pipeline =
      TRY(ReadPipeline(options.pass.file, options.pass.off));
  exec::Engine engine(EngineOptionsOf(options.pass));
  const exec::Saved saved = TRY(
      exec::Save(engine, pipeline, ops::DefaultLibrary(),
                 {.folder = options.folder,
                  .format = options.format,
                  .file_bytes = options.file_mebibytes.value_or(kFileMebibytes) << 20,
                  .replace = options.replace,
                  .pass = PassOptionsOf(options.pass)}));
  Tell(base::StrCat(saved.rows, " rows in ", saved.paths.size()), saved.bytes,
       profile::ShowLeftOut(saved.facts), options.folder);
  return absl::OkStatus();
}

}  // namespace

Verb SaveVerb() {
  return {"save", "Run a pipeline and save its rows in files", [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            AddPassFlags(command, options->pass);
            command
                .add_option("--service", options->job.service,
                            "HOST:PORT of a dispatcher whose workers run it, each lane "
                            "to a file of its own, instead of this process; what was "
                            "begun and not ended is gone on with")
                ->envname("MILLRACE_SERVICE");
            AddServiceFlags(command, options->job.flags);
            command
                .add_option("FOLDER", options->folder,
                            "Where to; made where it is missing")
                ->required();
            command.add_option("--format", options->format,
                               "frames: any rows, quick, for Millrace alone; arrow and "
                               "parquet: for other programs too; tar: as WebDataset "
                               "has it; frames by default");
            command.add_option("--file-mebibytes", options->file_mebibytes,
                               "About how large a file becomes; 256 by default");
            command.add_flag("--replace", options->replace,
                             "Replace what was saved there before");
            command.footer(
                "Examples:\n"
                "  millrace save pipeline.txt rows --format parquet\n"
                "  millrace save pipeline.txt /shared/rows --service 127.0.0.1:7171");
            return [options] {
              return options->job.service.empty() ? Save(*options)
                                                  : SaveByWorkers(*options);
            };
          }};
}

}  // namespace millrace::cli
