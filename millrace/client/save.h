// Saves what a pipeline gives, by all workers of a service: each lane becomes a file,
// written where it was computed. A job of the service like any other, whose pipeline
// ends in `write_rows`, so workers and dispatcher may be lost meanwhile; this process
// only notes which lanes are there, and at last writes the file that says so
// (`saved.json`), as exec::Save does. Workers and this process must see one folder.
//
// Killed, it leaves behind how far it was, and the same call goes on from there: lanes
// that were open are written again. The rows of all files, in the order of their names,
// are what the pipeline gives in this process, whatever the workers.
//
//   client::Saved saved = TRY(client::Save(pipeline, {.folder = "/data/tokens",
//                                                     .service = {.dispatcher = …}}));
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/client/consumer.h"
#include "millrace/ir/pipeline.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::client {

// How far a save is.
struct SaveProgress {
  int64_t lanes = 0;   // In all; 0: not known yet.
  int64_t done = 0;    // Of these.
  int64_t before = 0;  // Of these, by whom this one goes on from.
  int64_t rows = 0;    // As the pipeline gives them: batches are one each.
  int64_t bytes = 0;
};

struct SaveOptions {
  std::string folder;
  std::string format = "frames";  // One of the library's.
  bool replace = false;           // What was saved there before, to its end or not.
  // Drawn by default; of a save that is gone on with, what it has.
  std::optional<int64_t> seed = {};
  // Where and how: dispatcher, client, library; of the settings tags, target and
  // packages. What else there is belongs to the save.
  ConsumerOptions service = {};
  // Told how far it is, some times a second; true ends it, as an interrupt does.
  std::function<bool(const SaveProgress&)> interrupt = nullptr;
  // Who goes on with a save looks so long whether somebody else still drives it.
  absl::Duration listen = absl::Seconds(3);
  const storage::BlobStore& store = storage::ProcessFiles();
};

// Saves one pass, of epoch 0, or goes on with it. Errors before anything is computed:
// InvalidArgument for rows that have no end or that the format does not hold,
// AlreadyExists where something else was saved, or begun.
absl::StatusOr<SaveProgress> Save(const ir::Pipeline& pipeline,
                                  const SaveOptions& options);

}  // namespace millrace::client
