// Saves what a pipeline gives: a pass, written to files of about one size, in the order
// of its rows. Each file appears when it is complete, and at last one that says which
// there are (`saved.json`): whoever finds that finds all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/exec/engine.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ops/library.h"
#include "millrace/profile/facts.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::exec {

struct SaveOptions {
  std::string folder;
  std::string format = "frames";            // One of the library's.
  int64_t file_bytes = int64_t{256} << 20;  // About; a file has a block at least.
  bool replace = false;                     // What was saved there before.
  PassOptions pass = {};
  // Told how many rows are saved, often; true ends it, as an interrupt does.
  std::function<bool(int64_t rows)> interrupt = nullptr;
  const storage::BlobStore& store = storage::ProcessFiles();
};

struct Saved {
  std::vector<std::string> paths;  // Of the files of rows.
  int64_t rows = 0;                // As the pipeline gives them: batches are one each.
  int64_t bytes = 0;
  profile::PassFacts facts;
};

// Saves one pass. Without `replace` a folder that has something saved in it is an
// error, as are rows that the format does not hold: both are found before anything is
// computed.
absl::StatusOr<Saved> Save(Engine& engine, const rewrite::Rewritten& pipeline,
                           const ops::Library& library, const SaveOptions& options);

}  // namespace millrace::exec
