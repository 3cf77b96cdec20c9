// Files in the folders of this machine, or mounted there. Holds nothing; thread-safe.
// The version of a file is its size and the time of its last change in nanoseconds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/storage/blob_store.h"

namespace millrace::storage {

class LocalFiles : public BlobStore {
 public:
  absl::StatusOr<std::vector<BlobInfo>> List(
      absl::Span<const std::string> patterns) const override;
  absl::StatusOr<BlobInfo> Find(const std::string& path) const override;
  absl::StatusOr<std::unique_ptr<Blob>> Open(const BlobInfo& listed) const override;
  using BlobStore::Create;
  absl::StatusOr<std::unique_ptr<BlobWriter>> Create(const std::string& path,
                                                     Existing existing) const override;
  absl::Status Remove(const std::string& path) const override;
};

// The one of this process.
BlobStore& ProcessFiles();

}  // namespace millrace::storage
