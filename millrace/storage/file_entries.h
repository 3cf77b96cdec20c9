// Entries of caches in files.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/mutex.h"
#include "millrace/base/sha256.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/entries.h"
#include "millrace/storage/frame_run.h"

namespace millrace::storage {

// Entries in files below a folder: `<folder>/<computation>/<content>.frames`. Processes
// may share the folder; each sees what was there when it was first asked about the
// computation, and what it wrote itself.
class FileEntries final : public Entries {
 public:
  // Requires: the store outlives it.
  FileEntries(const BlobStore& store, std::string folder);

  // Finds what there is of a computation. An error where the folder cannot be used.
  absl::Status Load(const base::Sha256& computation);

  bool Has(const EntryKey& key) const override;
  absl::StatusOr<std::unique_ptr<FrameRun>> Open(const EntryKey& key) const override;
  absl::StatusOr<std::unique_ptr<EntryWriter>> Create(const EntryKey& key) override;
  absl::Status Remove(const EntryKey& key) override;

  bool waits() const override { return true; }

 private:
  class Writer;

  std::string PathOf(const EntryKey& key) const;
  void Add(const std::string& path);

  const BlobStore& store_;
  const std::string folder_;
  mutable base::Mutex mutex_;
  absl::flat_hash_set<std::string> there_ ABSL_GUARDED_BY(mutex_);  // Paths.
};

}  // namespace millrace::storage
