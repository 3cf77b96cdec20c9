// For tests: the files of this machine, with a count of what is read of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::arrow {

// Counts the bytes that are read.
class CountingStore final : public storage::BlobStore {
 public:
  absl::StatusOr<std::vector<storage::BlobInfo>> List(
      absl::Span<const std::string> patterns) const override {
    return storage::ProcessFiles().List(patterns);
  }

  absl::StatusOr<storage::BlobInfo> Find(const std::string& path) const override {
    return storage::ProcessFiles().Find(path);
  }

  absl::StatusOr<std::unique_ptr<storage::Blob>> Open(
      const storage::BlobInfo& listed) const override {
    return std::make_unique<CountingBlob>(*this,
                                          TRY(storage::ProcessFiles().Open(listed)));
  }

  absl::StatusOr<std::unique_ptr<storage::BlobWriter>> Create(
      const std::string& path) const override {
    return storage::ProcessFiles().Create(path);
  }

  absl::Status Remove(const std::string& path) const override {
    return storage::ProcessFiles().Remove(path);
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
