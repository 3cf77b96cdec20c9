// What a folder of saved rows says of itself: `saved.json`, written last. While lanes
// are still being written, each to a file of its own, `saving.json` says what comes.
//
//   {"millrace": 1, "format": "frames", "fields": "{x: int64}",
//    "files": {"rows-000000.frames": 1000, "rows-000001.frames": 17}}
//
//   {"millrace": 1, "format": "frames", "fields": "{x: int64}",
//    "name": "1f0a", "ending": ".frames", "lanes": 2, "beats": 17, "failed": ""}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/storage/blob_store.h"

namespace millrace::ops {

struct SavedFile {
  std::string name;  // In the folder.
  int64_t rows = 0;

  friend bool operator==(const SavedFile&, const SavedFile&) = default;
};

struct SavedSet {
  std::string format;
  std::string fields;  // A spec.
  std::vector<SavedFile> files;

  friend bool operator==(const SavedSet&, const SavedSet&) = default;
};

// A save that lanes are still missing of. It is written anew every now and then, so
// that whoever waits for a lane sees that it goes on.
struct UnfinishedSet {
  std::string format;
  std::string fields;  // As they will be read.
  std::string name;    // Stands in the names of its files.
  std::string ending;  // Of these.
  int64_t lanes = 0;
  int64_t beats = 0;        // How often it was written.
  std::string failed = {};  // Why it does not go on; empty: it does.

  friend bool operator==(const UnfinishedSet&, const UnfinishedSet&) = default;
};

// The name of a file of rows: so many come before it.
std::string SavedFileName(int64_t number, const std::string& name,
                          const std::string& ending);

std::string SavedSetPath(const std::string& folder);
std::string UnfinishedSetPath(const std::string& folder);

// Where whoever drives a save notes how far it is.
std::string SaveStatePath(const std::string& folder);

// Makes a folder ready: nothing in it may be taken for a part of what will be saved.
// AlreadyExists where something was saved before, to its end or not, and is not to be
// replaced.
absl::Status ClearSavedSet(const storage::BlobStore& store, const std::string& folder,
                           bool replace);

absl::Status WriteSavedSet(const storage::BlobStore& store, const std::string& folder,
                           const SavedSet& saved);

absl::Status WriteUnfinishedSet(const storage::BlobStore& store,
                                const std::string& folder, const UnfinishedSet& saving);

// NotFound where nothing was saved, or not to its end; DataLoss where the file is
// damaged. Errors name it.
absl::StatusOr<SavedSet> ReadSavedSet(const storage::BlobStore& store,
                                      const std::string& folder);

// NotFound where nothing is being saved.
absl::StatusOr<UnfinishedSet> ReadUnfinishedSet(const storage::BlobStore& store,
                                                const std::string& folder);

}  // namespace millrace::ops
