// A piece of memory that several holders share: a handle, cheap to copy and to slice.
// The memory goes back to where it came from (a pool, the caller of Wrap) when the last
// holder lets go. Whoever makes a buffer fills it before sharing it; from then on it is
// read-only, and may be read from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/core/allocator.h"

namespace millrace::core {

// What keeps a buffer's memory alive. The last holder destroys it.
class Storage {
 public:
  explicit Storage(Region region) : region_(region) {}

  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() = default;

  const Region& region() const { return region_; }

  // Stops counting this memory against its pool's budget: it now belongs to the user.
  // From any thread; once is enough.
  virtual void LeaveBudget() {}

  // Tells whether the memory is a pool's, and free again once nobody holds it.
  virtual bool pooled() const { return false; }

  // Has the memory given up, not used again, once nobody here holds it: another process
  // may still see it. From any thread.
  virtual void Retire() {}

  // Tells whether nobody here may write to it, not even its only holder.
  virtual bool read_only() const { return false; }

 private:
  const Region region_;
};

class Buffer {
 public:
  Buffer() = default;  // No bytes at all.

  // The first `size` bytes of a storage. Requires: it has that many.
  Buffer(std::shared_ptr<Storage> storage, int64_t size);

  // Memory of somebody else, kept alive by `owner`.
  static Buffer Wrap(const void* data, int64_t size, std::shared_ptr<const void> owner);

  const std::byte* data() const { return data_; }

  int64_t size() const { return size_; }

  // Requires: nobody else reads this memory yet.
  std::byte* mutable_data() { return data_; }

  // Gives a part, without a copy. Requires: it lies inside.
  Buffer Slice(int64_t offset, int64_t size) const;

  // Tells whether the other begins right where this ends, in the same memory.
  bool Precedes(const Buffer& next) const {
    return storage_ != nullptr && storage_ == next.storage_ &&
           data_ + size_ == next.data_;
  }

  // Gives both as one, without a copy. Requires: Precedes(next).
  Buffer JoinedWith(const Buffer& next) const;

  // The bytes as values of one type. Requires: whole values, aligned.
  template <typename T>
  absl::Span<const T> As() const {
    CHECK_EQ(size_ % static_cast<int64_t>(sizeof(T)), 0);
    CHECK_EQ(reinterpret_cast<uintptr_t>(data_) % alignof(T), 0U);
    return absl::Span<const T>(reinterpret_cast<const T*>(data_),
                               static_cast<size_t>(size_) / sizeof(T));
  }

  // The same for whoever fills it. Requires as mutable_data().
  template <typename T>
  absl::Span<T> MutableAs() {
    const absl::Span<const T> values = As<T>();
    return absl::Span<T>(const_cast<T*>(values.data()), values.size());
  }

  std::string_view text() const {
    return {reinterpret_cast<const char*>(data_), static_cast<size_t>(size_)};
  }

  const std::shared_ptr<Storage>& storage() const { return storage_; }

 private:
  std::shared_ptr<Storage> storage_;
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace millrace::core
