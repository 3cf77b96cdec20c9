// millrace save: runs a pipeline and saves its rows in files.

#include "millrace/exec/save.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "millrace/base/bytes.h"
#include "millrace/base/status.h"
#include "millrace/cli/pipeline_file.h"
#include "millrace/cli/run_pass.h"
#include "millrace/cli/verb.h"
#include "millrace/exec/engine.h"
#include "millrace/ops/library.h"
#include "millrace/profile/table.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {
namespace {

struct Options {
  PassFlags pass;
  std::string folder;
  std::string format = "frames";
  int64_t file_mebibytes = 256;
  bool replace = false;
};

absl::Status Save(const Options& options) {
  const rewrite::Rewritten pipeline =
      TRY(ReadPipeline(options.pass.file, options.pass.off));
  exec::Engine engine(EngineOptionsOf(options.pass));
  const exec::Saved saved = TRY(exec::Save(engine, pipeline, ops::DefaultLibrary(),
                                           {.folder = options.folder,
                                            .format = options.format,
                                            .file_bytes = options.file_mebibytes << 20,
                                            .replace = options.replace,
                                            .pass = PassOptionsOf(options.pass)}));
  std::cout << saved.rows << " rows in " << saved.paths.size() << " files, "
            << base::ToString(base::Bytes(saved.bytes)) << "\n"
            << profile::ShowLeftOut(saved.facts) << "To read them: load(path=\""
            << options.folder << "\")\n";
  return absl::OkStatus();
}

}  // namespace

Verb SaveVerb() {
  return {"save", "Run a pipeline and save its rows in files", [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            AddPassFlags(command, options->pass);
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
            return [options] { return Save(*options); };
          }};
}

}  // namespace millrace::cli
