// Where files are: the one way by which anything reads or writes them. A store is given
// to whoever needs files, so that the same code runs over local folders, an object
// store, or a fake that fails. Stores and open blobs are safe to use from any thread;
// every call may wait for a disk.
//
//   for (const BlobInfo& blob : TRY(store.List({"data/train-{000..127}.tar"}))) ...
//   std::unique_ptr<Blob> blob = TRY(store.Open(info));
//   int64_t got = TRY(blob->Read(offset, room));
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace::storage {

// What a listing says of one file.
struct BlobInfo {
  std::string path;
  int64_t bytes = 0;
  std::string version;  // Changes when the content may have: time of change, or etag.

  friend bool operator==(const BlobInfo&, const BlobInfo&) = default;
};

// A file open for reading.
class Blob {
 public:
  virtual ~Blob() = default;

  virtual const BlobInfo& info() const = 0;

  // Fills `room` with what stands from `offset` on. Gives how much that was: less than
  // asked for only where the file ends. Requires: 0 <= offset.
  virtual absl::StatusOr<int64_t> Read(int64_t offset,
                                       absl::Span<std::byte> room) const = 0;

  // The same as far as it takes no waiting: gives less, or nothing, where the rest
  // would have to be waited for.
  virtual absl::StatusOr<int64_t> ReadNow(int64_t /*offset*/,
                                          absl::Span<std::byte> /*room*/) const {
    return 0;
  }
};

// What becomes of a file that has the name of one that is published.
enum class Existing : uint8_t { kReplace, kKeep };

// Whether what is written must outlive a loss of power from then on.
enum class Sync : uint8_t { kNow, kLater };

// A file being written. Nobody sees it before Publish; dropped without, it is gone.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;

  virtual absl::Status Append(std::string_view bytes) = 0;

  // Makes the content appear under its name, all at once, in place of what was there;
  // where that is to be kept, nothing is done. Call it once, last.
  virtual absl::Status Publish(Sync sync) = 0;
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Finds the files that match any of the patterns (glob.h), sorted by the bytes of
  // their paths, each once. A pattern that matches nothing is NotFound.
  virtual absl::StatusOr<std::vector<BlobInfo>> List(
      absl::Span<const std::string> patterns) const = 0;

  // Looks at one file; NotFound when there is none.
  virtual absl::StatusOr<BlobInfo> Find(const std::string& path) const = 0;

  // Opens what was listed. NotFound when it has vanished since, FailedPrecondition
  // when it has changed.
  virtual absl::StatusOr<std::unique_ptr<Blob>> Open(const BlobInfo& listed) const = 0;

  // Begins a file, in folders that are made where they are missing.
  virtual absl::StatusOr<std::unique_ptr<BlobWriter>> Create(
      const std::string& path, Existing existing) const = 0;

  absl::StatusOr<std::unique_ptr<BlobWriter>> Create(const std::string& path) const {
    return Create(path, Existing::kReplace);
  }

  // Removes a file; one that is not there is no error.
  virtual absl::Status Remove(const std::string& path) const = 0;
};

// Reads all of a file into memory. Refuses files over `bytes_max`.
absl::StatusOr<std::string> ReadWhole(const BlobStore& store, const BlobInfo& listed,
                                      int64_t bytes_max);

}  // namespace millrace::storage
