// Writes tar files (ustar), as WebDataset reads them: one member after another, into
// any file being written. Names of up to 100 bytes. One thread.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

#include "millrace/storage/blob_store.h"

namespace millrace::storage {

class TarWriter {
 public:
  explicit TarWriter(std::unique_ptr<BlobWriter> file) : file_(std::move(file)) {}

  // Adds a member. An error when the name is too long for the format.
  absl::Status Add(std::string_view name, std::string_view content);

  // Writes the end of the archive and lets the file appear. Call it once, last.
  absl::Status Publish();

 private:
  const std::unique_ptr<BlobWriter> file_;
};

}  // namespace millrace::storage
