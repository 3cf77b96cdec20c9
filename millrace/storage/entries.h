// Entries of caches: what was once computed, by what names it. An entry is a run of
// frames that appears all at once, when it is complete, and never changes. Thread-safe.
//
//   if (entries.Has(key)) { auto entry = TRY(entries.Open(key)); ... }
//   auto writer = TRY(entries.Create(key)); writer->Append(frame); writer->Publish();
#pragma once

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"
#include "millrace/frames/frame.h"
#include "millrace/storage/frame_run.h"

namespace millrace::storage {

// What an entry is the result of: a computation, and what it was done with.
struct EntryKey {
  base::Sha256 computation;
  base::Hash128 content;

  friend bool operator==(const EntryKey&, const EntryKey&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const EntryKey& key) {
    return H::combine(std::move(state), key.computation, key.content);
  }
};

// An entry being written; dropped without Publish, it is gone.
class EntryWriter {
 public:
  virtual ~EntryWriter() = default;

  // ResourceExhausted where there is no room.
  virtual absl::Status Append(const frames::Frame& frame) = 0;
  virtual absl::Status Publish() = 0;
};

class Entries {
 public:
  virtual ~Entries() = default;

  // Tells whether there is a complete entry, without waiting.
  virtual bool Has(const EntryKey& key) const = 0;

  // Opens one. NotFound where there is none.
  virtual absl::StatusOr<std::unique_ptr<FrameRun>> Open(const EntryKey& key) const = 0;

  virtual absl::StatusOr<std::unique_ptr<EntryWriter>> Create(const EntryKey& key) = 0;

  // Forgets one that turned out to be damaged.
  virtual absl::Status Remove(const EntryKey& key) = 0;

  // Tells whether reading waits for disks.
  virtual bool waits() const = 0;
};

}  // namespace millrace::storage
