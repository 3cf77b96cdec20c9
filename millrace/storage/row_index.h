// Where the rows of one file begin: what makes reading possible from any row, and
// counts the rows. An index stands beside its file as `<file>.mrindex`, or in a cache;
// it names the file's size and version, so that a stale one is never used. A value of 8
// bytes a row; on disk two or three (docs/formats/index.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::storage {

class RowIndex {
 public:
  // Requires: one offset for every row and the end of the last, strictly rising. No
  // rows are one offset.
  explicit RowIndex(std::vector<int64_t> offsets);

  int64_t rows() const { return static_cast<int64_t>(offsets_.size()) - 1; }

  // Where a row begins; of rows(), where the last ends. Requires: 0 <= row <= rows().
  int64_t OffsetOf(int64_t row) const {
    CHECK(row >= 0 && row <= rows()) << row;
    return offsets_[row];
  }

  const std::vector<int64_t>& offsets() const { return offsets_; }

  friend bool operator==(const RowIndex&, const RowIndex&) = default;

 private:
  std::vector<int64_t> offsets_;
};

// Where the index of a file stands when it stands beside it.
std::string IndexPath(std::string_view path);

// Writes an index as bytes, bound to a file as it is now.
std::string EncodeIndex(const RowIndex& index, RowFormat format, const BlobInfo& file);

// Reads what EncodeIndex wrote. FailedPrecondition when it is of another format, file
// size or version; DataLoss for anything else than an index, safely.
absl::StatusOr<RowIndex> DecodeIndex(std::string_view bytes, RowFormat format,
                                     const BlobInfo& file);

// Finds the rows of a file by reading it: all of lines, the headers of the others.
// Requires: a scanner at the file's beginning.
absl::StatusOr<RowIndex> BuildIndex(const Blob& blob, RowScanner& scanner);

// Loads the index beside a file; nothing when there is none, or it is stale.
absl::StatusOr<std::optional<RowIndex>> LoadIndex(const BlobStore& store,
                                                  const BlobInfo& file,
                                                  RowFormat format);

// Writes the index beside a file: it appears all at once.
absl::Status SaveIndex(const BlobStore& store, const BlobInfo& file, RowFormat format,
                       const RowIndex& index);

}  // namespace millrace::storage
