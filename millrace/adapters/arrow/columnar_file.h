// A file of tables, opened: its fields, and the parts that it is decoded by (row groups
// of Parquet, record batches of Arrow). Says which bytes a part takes; who has fetched
// them opens the part. Immutable; from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/fields.h"
#include "millrace/adapters/arrow/module.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {

// Bytes of the file that a part needs, and where the decoder will look for them.
struct Needed {
  int64_t offset = 0;
  int64_t size = 0;
  int64_t place = 0;
};

// The same once they are in memory.
struct Fetched {
  int64_t place = 0;
  core::Buffer bytes;
};

class ColumnarFile {
 public:
  virtual ~ColumnarFile() = default;

  const storage::BlobInfo& info() const { return info_; }

  const Leaves& leaves() const { return leaves_; }

  int64_t rows() const { return row_ends_.empty() ? 0 : row_ends_.back(); }

  // The part that a row is in. Requires: 0 <= row < rows().
  int64_t PartOf(int64_t row) const;

  // The first row of a part, and the one behind its last.
  int64_t BeginOf(int64_t part) const { return part == 0 ? 0 : row_ends_[part - 1]; }

  int64_t EndOf(int64_t part) const { return row_ends_[part]; }

  int64_t parts() const { return static_cast<int64_t>(row_ends_.size()); }

  // Rows of the longest part; of all but the last, as files are written.
  int64_t part_rows_max() const { return part_rows_max_; }

  // About how many bytes a row of these fields has, decoded.
  virtual double RowBytes(int64_t part, absl::Span<const int64_t> fields) const = 0;

  // Whether the file leaves it open that a field has nulls in a part.
  virtual bool MayHaveNulls(int64_t part, int64_t field) const = 0;

  // Gives the bytes that some fields of a part take, rising and apart.
  virtual absl::StatusOr<std::vector<Needed>> NeededFor(
      int64_t part, absl::Span<const int64_t> fields) const = 0;

  // Opens a part whose bytes are there; it is decoded so many rows at a time, into
  // memory of the pool. Requires: the file and the pool outlive it.
  absl::StatusOr<PartHandle> OpenPart(int64_t part, std::vector<Fetched> fetched,
                                      int64_t batch_rows, core::Pool& pool) const;

  const MillraceArrowFunctions& module() const { return *module_; }

 protected:
  ColumnarFile(storage::BlobInfo info, const MillraceArrowFunctions* module);

  // Takes what the module opened, and reads its schema.
  absl::Status Take(FileHandle file);
  absl::Status AddPart(int64_t rows);

  const MillraceArrowFile* file() const { return file_.get(); }

 private:
  // The number that the module knows a part by.
  virtual int64_t GroupOf(int64_t part) const = 0;

  const storage::BlobInfo info_;
  const MillraceArrowFunctions* const module_;
  FileHandle file_;
  Leaves leaves_;
  std::vector<int64_t> row_ends_;
  int64_t part_rows_max_ = 0;
};

// Has the module see bytes in memory, which it keeps as long as it needs them.
class MemoryView {
 public:
  explicit MemoryView(std::vector<Fetched> fetched);

  // Hands the bytes over. Call it once.
  MillraceArrowMemoryFile Release();

 private:
  std::unique_ptr<std::vector<Fetched>> fetched_;
  std::vector<MillraceArrowPiece> pieces_;
};

enum class FileFormat : uint8_t { kParquet, kMessages };

// Opens a file; waits for the disk. DataLoss where it is no such file, or broken.
absl::StatusOr<std::shared_ptr<const ColumnarFile>> OpenColumnarFile(
    FileFormat format, const storage::BlobStore& store, const storage::BlobInfo& info);

}  // namespace millrace::arrow
