// What a folder of saved rows says of itself: `saved.json`, written last.
//
//   {"millrace": 1, "format": "frames", "fields": "{x: int64}",
//    "files": {"rows-000000.frames": 1000, "rows-000001.frames": 17}}
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

std::string SavedSetPath(const std::string& folder);

absl::Status WriteSavedSet(const storage::BlobStore& store, const std::string& folder,
                           const SavedSet& saved);

// NotFound where nothing was saved, or not to its end; DataLoss where the file is
// damaged. Errors name it.
absl::StatusOr<SavedSet> ReadSavedSet(const storage::BlobStore& store,
                                      const std::string& folder);

}  // namespace millrace::ops
