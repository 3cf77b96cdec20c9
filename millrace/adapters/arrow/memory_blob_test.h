// For tests: bytes in memory, as a file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/storage/blob_store.h"

namespace millrace::arrow {

// One file, in memory.
class MemoryBlob final : public storage::Blob {
 public:
  explicit MemoryBlob(std::string content, std::string path = "memory")
      : content_(std::move(content)),
        info_{.path = std::move(path), .bytes = std::ssize(content_), .version = "1"} {}

  const storage::BlobInfo& info() const override { return info_; }

  absl::StatusOr<int64_t> Read(int64_t offset,
                               absl::Span<std::byte> room) const override {
    if (offset >= std::ssize(content_)) return 0;
    const size_t size = std::min(room.size(), content_.size() - offset);
    std::memcpy(room.data(), content_.data() + offset, size);
    return static_cast<int64_t>(size);
  }

 private:
  const std::string content_;
  const storage::BlobInfo info_;
};

}  // namespace millrace::arrow
