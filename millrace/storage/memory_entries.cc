#include "millrace/storage/memory_entries.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/storage/entries.h"
#include "millrace/storage/frame_run.h"

namespace millrace::storage {

// The frames of an entry.
struct MemoryEntries::Kept {
  std::vector<frames::FrameSize> sizes;
  std::vector<core::Buffer> frames;
  int64_t bytes = 0;
};

// What there is, and who may take how much of the room.
struct MemoryEntries::Shelf {
  explicit Shelf(int64_t most) : bytes_max(most) {}

  bool Reserve(int64_t more) {
    const base::MutexLock lock(&mutex);
    if (more > bytes_max - bytes) return false;
    bytes += more;
    return true;
  }

  void Release(int64_t less) {
    const base::MutexLock lock(&mutex);
    bytes -= less;
  }

  std::shared_ptr<const Kept> Find(const EntryKey& key) {
    const base::MutexLock lock(&mutex);
    const auto found = kept.find(key);
    return found == kept.end() ? nullptr : found->second;
  }

  const int64_t bytes_max;
  base::Mutex mutex;
  int64_t bytes ABSL_GUARDED_BY(mutex) = 0;
  absl::flat_hash_map<EntryKey, std::shared_ptr<const Kept>> kept
      ABSL_GUARDED_BY(mutex);
};

class MemoryEntries::MemoryEntry final : public FrameRun {
 public:
  explicit MemoryEntry(std::shared_ptr<const Kept> kept) : kept_(std::move(kept)) {}

  absl::Span<const frames::FrameSize> frames() const override { return kept_->sizes; }

  absl::Status Read(int64_t frame, absl::Span<std::byte> room) const override {
    CHECK_EQ(std::ssize(room), kept_->sizes[frame].bytes);
    std::memcpy(room.data(), kept_->frames[frame].data(), room.size());
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> ReadNow(int64_t frame,
                                  absl::Span<std::byte> room) const override {
    TRY(Read(frame, room));
    return std::ssize(room);
  }

  std::string name() const override { return "memory"; }

 private:
  const std::shared_ptr<const Kept> kept_;
};

class MemoryEntries::Writer final : public EntryWriter {
 public:
  Writer(std::shared_ptr<Shelf> shelf, const EntryKey& key)
      : shelf_(std::move(shelf)), key_(key) {}

  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  ~Writer() override { shelf_->Release(entry_->bytes); }

  absl::Status Append(const frames::Frame& frame) override {
    if (!shelf_->Reserve(frame.bytes())) {
      return absl::ResourceExhaustedError(base::StrCat(
          "its memory of ", shelf_->bytes_max,
          " bytes is full: what finds no room is "
          "computed again in each pass; give it more memory, or a path on a disk"));
    }
    entry_->bytes += frame.bytes();
    core::Buffer copy = TRY(core::HeapPool().Allocate(frame.bytes()));
    frame.CopyTo(copy.mutable_data());
    entry_->sizes.push_back({.bytes = frame.bytes(), .rows = frame.rows()});
    entry_->frames.push_back(std::move(copy));
    return absl::OkStatus();
  }

  absl::Status Publish() override {
    const base::MutexLock lock(&shelf_->mutex);
    const bool added = shelf_->kept.emplace(key_, entry_).second;
    // Where another was quicker, this one's room is free again.
    if (added) entry_ = std::make_shared<Kept>();
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<Shelf> shelf_;
  const EntryKey key_;
  std::shared_ptr<Kept> entry_ = std::make_shared<Kept>();
};

MemoryEntries::MemoryEntries(int64_t bytes_max)
    : shelf_(std::make_shared<Shelf>(bytes_max)) {}

MemoryEntries::~MemoryEntries() = default;

bool MemoryEntries::Has(const EntryKey& key) const {
  return shelf_->Find(key) != nullptr;
}

absl::StatusOr<std::unique_ptr<FrameRun>> MemoryEntries::Open(
    const EntryKey& key) const {
  std::shared_ptr<const Kept> kept = shelf_->Find(key);
  if (kept == nullptr) return absl::NotFoundError("no such entry in memory");
  return std::make_unique<MemoryEntry>(std::move(kept));
}

absl::StatusOr<std::unique_ptr<EntryWriter>> MemoryEntries::Create(
    const EntryKey& key) {
  return std::make_unique<Writer>(shelf_, key);
}

absl::Status MemoryEntries::Remove(const EntryKey& key) {
  const base::MutexLock lock(&shelf_->mutex);
  const auto found = shelf_->kept.find(key);
  if (found == shelf_->kept.end()) return absl::OkStatus();
  shelf_->bytes -= found->second->bytes;
  shelf_->kept.erase(found);
  return absl::OkStatus();
}

int64_t MemoryEntries::bytes() const {
  const base::MutexLock lock(&shelf_->mutex);
  return shelf_->bytes;
}

}  // namespace millrace::storage
