// What the caches of a process keep, over all of its passes: in memory, within a
// budget, and in files. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"

#include "millrace/base/mutex.h"
#include "millrace/base/sha256.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/entries.h"
#include "millrace/storage/file_entries.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/memory_entries.h"

namespace millrace::exec {

class Caches {
 public:
  // Requires: the store outlives it.
  explicit Caches(int64_t memory_bytes,
                  const storage::BlobStore& store = storage::ProcessFiles());

  // Gives where a cache keeps what a computation gives: a folder, or memory. Finds what
  // is there of it. An error where nothing can be written to the folder.
  absl::StatusOr<std::shared_ptr<storage::Entries>> EntriesAt(
      const std::optional<std::string>& path, const base::Sha256& computation);

  // What is kept in memory.
  int64_t memory_bytes() const { return memory_->bytes(); }

 private:
  std::shared_ptr<storage::FileEntries> FolderAt(const std::string& path);

  const storage::BlobStore& store_;
  const std::shared_ptr<storage::MemoryEntries> memory_;
  base::Mutex mutex_;
  std::map<std::string, std::shared_ptr<storage::FileEntries>> folders_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace::exec
