// Where a dispatcher keeps what must survive it: a journal of events, the snapshot they
// follow, and things named by their content. The caller gives the bytes and their
// meaning. Used by one thread at a time; a store has no thread of its own.
//
//   MetadataStore::Kept kept = TRY(store.Load());  // Once, at the start.
//   TRY(store.Append(events));                     // Once for each drained inbox.
//   TRY(store.Snapshot(state));                    // Now and then: forgets the events.
//
// Codes say what to do: ResourceExhausted, make space and try again; DataLoss, the
// store is damaged; anything else from a write, stop: another may be the writer now,
// and what was written is known only to the next Load.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace::metadata {

// The most bytes one event, snapshot or object may have; more is InvalidArgument.
inline constexpr int64_t kItemBytesMax = int64_t{256} << 20;

class MetadataStore {
 public:
  struct Kept {
    std::string snapshot = {};             // Empty where there was none.
    std::vector<std::string> events = {};  // Those since the snapshot, in order.
  };

  virtual ~MetadataStore() = default;

  // Returns all that is kept but the objects.
  virtual absl::StatusOr<Kept> Load() = 0;

  // Appends events in one transaction: on return all are durable, or none is there.
  virtual absl::Status Append(absl::Span<const std::string> events) = 0;

  // Replaces the snapshot and all events by this snapshot, at once.
  virtual absl::Status Snapshot(std::string_view snapshot) = 0;

  // Keeps a thing under its content's hash. Again is no change; under a hash that other
  // bytes have it is AlreadyExists.
  virtual absl::Status PutObject(std::string_view hash, std::string_view bytes) = 0;

  // Returns what was put under a hash, or NotFound.
  virtual absl::StatusOr<std::string> GetObject(std::string_view hash) = 0;

  // Forgets all objects but these; hashes that are not there are passed over.
  virtual absl::Status DropObjectsExcept(absl::Span<const std::string> hashes) = 0;
};

// What all stores say alike: an item (an event, a snapshot, an object) has more bytes
// than kItemBytesMax; a hash is not there; it is there with other bytes.
absl::Status CheckItemSize(std::string_view what, std::string_view bytes);
absl::Status NoSuchObject(std::string_view hash);
absl::Status OtherContent(std::string_view hash);

}  // namespace millrace::metadata
