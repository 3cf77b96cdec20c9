// A store in memory: for tests, simulated dispatchers, and services that need not
// survive their process. It outlives the dispatcher that uses it, as a disk would.
#pragma once

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/metadata/metadata_store.h"

namespace millrace::metadata {

class MemoryStore final : public MetadataStore {
 public:
  absl::StatusOr<Kept> Load() override;
  absl::Status Append(absl::Span<const std::string> events) override;
  absl::Status Snapshot(std::string_view snapshot) override;
  absl::Status PutObject(std::string_view hash, std::string_view bytes) override;
  absl::StatusOr<std::string> GetObject(std::string_view hash) override;
  absl::Status DropObjectsExcept(absl::Span<const std::string> hashes) override;

 private:
  Kept kept_;
  absl::flat_hash_map<std::string, std::string> objects_;
};

}  // namespace millrace::metadata
