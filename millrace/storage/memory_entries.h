// Entries of caches in memory.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/storage/entries.h"
#include "millrace/storage/frame_run.h"

namespace millrace::storage {

// Entries in memory, of so many bytes in all. What there is stays; what finds no room
// is not kept.
class MemoryEntries final : public Entries {
 public:
  explicit MemoryEntries(int64_t bytes_max);
  ~MemoryEntries() override;

  bool Has(const EntryKey& key) const override;
  absl::StatusOr<std::unique_ptr<FrameRun>> Open(const EntryKey& key) const override;
  absl::StatusOr<std::unique_ptr<EntryWriter>> Create(const EntryKey& key) override;
  absl::Status Remove(const EntryKey& key) override;

  bool waits() const override { return false; }

  int64_t bytes() const;

 private:
  struct Kept;
  struct Shelf;
  class MemoryEntry;
  class Writer;

  const std::shared_ptr<Shelf> shelf_;  // Outlives this where somebody still writes.
};

}  // namespace millrace::storage
