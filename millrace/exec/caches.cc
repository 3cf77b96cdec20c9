#include "millrace/exec/caches.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/mutex.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/entries.h"
#include "millrace/storage/file_entries.h"
#include "millrace/storage/memory_entries.h"

namespace millrace::exec {

Caches::Caches(int64_t memory_bytes, const storage::BlobStore& store)
    : store_(store), memory_(std::make_shared<storage::MemoryEntries>(memory_bytes)) {}

absl::StatusOr<std::shared_ptr<storage::Entries>> Caches::EntriesAt(
    const std::optional<std::string>& path, const base::Sha256& computation) {
  if (!path) return memory_;
  // Dropped at once: it only shows that files can be written.
  const absl::Status probe =
      store_.Create(base::StrCat(*path, "/", base::ToHex(computation), "/probe"))
          .status();
  if (!probe.ok()) {
    return base::Annotate(
        probe, "cannot keep rows there; give a folder that can be written to");
  }
  std::shared_ptr<storage::FileEntries> folder = FolderAt(*path);
  TRY(folder->Load(computation));
  return folder;
}

std::shared_ptr<storage::FileEntries> Caches::FolderAt(const std::string& path) {
  const base::MutexLock lock(&mutex_);
  std::shared_ptr<storage::FileEntries>& folder = folders_[path];
  if (folder == nullptr) {
    folder = std::make_shared<storage::FileEntries>(store_, path);
  }
  return folder;
}

}  // namespace millrace::exec
