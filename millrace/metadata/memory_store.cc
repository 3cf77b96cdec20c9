#include "millrace/metadata/memory_store.h"

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/metadata/metadata_store.h"

namespace millrace::metadata {

absl::StatusOr<MetadataStore::Kept> MemoryStore::Load() { return kept_; }

absl::Status MemoryStore::Append(absl::Span<const std::string> events) {
  for (const std::string& event : events) TRY(CheckItemSize("an event", event));
  kept_.events.insert(kept_.events.end(), events.begin(), events.end());
  return absl::OkStatus();
}

absl::Status MemoryStore::Snapshot(std::string_view snapshot) {
  TRY(CheckItemSize("a snapshot", snapshot));
  kept_ = {.snapshot = std::string(snapshot)};
  return absl::OkStatus();
}

absl::Status MemoryStore::PutObject(std::string_view hash, std::string_view bytes) {
  TRY(CheckItemSize("an object", bytes));
  const auto [place, added] =
      objects_.try_emplace(std::string(hash), std::string(bytes));
  if (!added && place->second != bytes) return OtherContent(hash);
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryStore::GetObject(std::string_view hash) {
  const auto place = objects_.find(std::string(hash));
  if (place == objects_.end()) return NoSuchObject(hash);
  return place->second;
}

absl::Status MemoryStore::DropObjectsExcept(absl::Span<const std::string> hashes) {
  const absl::flat_hash_set<std::string> wanted(hashes.begin(), hashes.end());
  absl::erase_if(objects_,
                 [&](const auto& object) { return !wanted.contains(object.first); });
  return absl::OkStatus();
}

}  // namespace millrace::metadata
