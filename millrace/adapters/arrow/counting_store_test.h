// For tests: the files of this machine, with a count of what is read of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::arrow {

// Counts the bytes that are read.
class CountingStore final : public storage::LocalFiles {
 public:
  absl::StatusOr<std::unique_ptr<storage::Blob>> Open(
      const storage::BlobInfo& listed) const override {
    return std::make_unique<CountingBlob>(*this, TRY(LocalFiles::Open(listed)));
  }

  int64_t bytes() const { return bytes_; }

 private:
  class CountingBlob final : public storage::Blob {
   public:
    CountingBlob(const CountingStore& store, std::unique_ptr<storage::Blob> below)
        : store_(store), below_(std::move(below)) {}

    const storage::BlobInfo& info() const override { return below_->info(); }

    absl::StatusOr<int64_t> Read(int64_t offset,
                                 absl::Span<std::byte> room) const override {
      const int64_t got = TRY(below_->Read(offset, room));
      store_.bytes_ += got;
      return got;
    }

   private:
    const CountingStore& store_;
    const std::unique_ptr<storage::Blob> below_;
  };

  mutable std::atomic<int64_t> bytes_ = 0;
};

}  // namespace millrace::arrow
