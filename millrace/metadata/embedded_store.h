// A store in one file of a local folder (SQLite, with a write-ahead log beside it). A
// write is durable when it returns: it waits for the disk once. One process at a time
// has a folder; who comes second is told who has it, at once. The lock is the process's
// own, so it is gone when that is, however it ended.
//
//   auto store = TRY(EmbeddedStore::Open("/var/lib/millrace"));
//
// What is read is checked against sums, so that damage is an error and never an event.
// docs/formats/metadata.md describes the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/metadata/metadata_store.h"
#include "millrace/metadata/sqlite.h"

namespace millrace::metadata {

class EmbeddedStore final : public MetadataStore {
 public:
  // Opens the store of a folder that is there; makes its file where there is none.
  static absl::StatusOr<std::unique_ptr<EmbeddedStore>> Open(const std::string& folder);

  absl::StatusOr<Kept> Load() override;
  absl::Status Append(absl::Span<const std::string> events) override;
  absl::Status Snapshot(std::string_view snapshot) override;
  absl::Status PutObject(std::string_view hash, std::string_view bytes) override;
  absl::StatusOr<std::string> GetObject(std::string_view hash) override;
  absl::Status DropObjectsExcept(absl::Span<const std::string> hashes) override;

 private:
  EmbeddedStore(std::unique_ptr<Connection> file, Statement insert_event,
                int64_t last_event);

  absl::Status LoadEvents(int64_t first, Kept& kept) const;

  const std::unique_ptr<Connection> file_;
  Statement insert_event_;
  int64_t last_event_ = 0;  // The number of the newest; numbers are never used again.
};

}  // namespace millrace::metadata
