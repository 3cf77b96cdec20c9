// For tests: a store that fails at a call of one's choice, or gives bytes in dribs.
#pragma once

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

namespace millrace::storage {

class FailingStore final : public BlobStore {
 public:
  // Requires: `below` outlives it.
  explicit FailingStore(const BlobStore& below) : below_(below) {}

  absl::StatusOr<std::vector<BlobInfo>> List(
      absl::Span<const std::string> patterns) const override {
    TRY(Call());
    return below_.List(patterns);
  }

  absl::StatusOr<BlobInfo> Find(const std::string& path) const override {
    TRY(Call());
    return below_.Find(path);
  }

  absl::StatusOr<std::unique_ptr<Blob>> Open(const BlobInfo& listed) const override {
    TRY(Call());
    return std::make_unique<FailingBlob>(*this, TRY(below_.Open(listed)));
  }

  using BlobStore::Create;

  absl::StatusOr<std::unique_ptr<BlobWriter>> Create(const std::string& path,
                                                     Existing existing) const override {
    TRY(Call());
    return below_.Create(path, existing);
  }

  absl::Status Remove(const std::string& path) const override {
    TRY(Call());
    return below_.Remove(path);
  }

  // Fails from this call on; never when negative.
  void FailAt(int64_t call) {
    calls_ = 0;
    fail_at_ = call;
  }

  int64_t calls() const { return calls_; }

 private:
  class FailingBlob final : public Blob {
   public:
    FailingBlob(const FailingStore& store, std::unique_ptr<Blob> below)
        : store_(store), below_(std::move(below)) {}

    const BlobInfo& info() const override { return below_->info(); }

    absl::StatusOr<int64_t> Read(int64_t offset,
                                 absl::Span<std::byte> room) const override {
      TRY(store_.Call());
      return below_->Read(offset, room);
    }

   private:
    const FailingStore& store_;
    const std::unique_ptr<Blob> below_;
  };

  absl::Status Call() const {
    if (fail_at_ < 0 || calls_++ < fail_at_) return absl::OkStatus();
    return absl::UnavailableError("the disk is gone");
  }

  const BlobStore& below_;
  mutable int64_t calls_ = 0;
  int64_t fail_at_ = -1;
};

}  // namespace millrace::storage
