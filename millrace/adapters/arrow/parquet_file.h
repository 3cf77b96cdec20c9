// A Parquet file: its parts are its row groups, told by its footer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/interface.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {

class ParquetFile final : public ColumnarFile {
 public:
  static absl::StatusOr<std::shared_ptr<const ColumnarFile>> Open(
      const storage::Blob& blob, const MillraceArrowFunctions* module);

  double RowBytes(int64_t part, absl::Span<const int64_t> fields) const override;
  bool MayHaveNulls(int64_t part, int64_t field) const override;
  absl::StatusOr<std::vector<Needed>> NeededFor(
      int64_t part, absl::Span<const int64_t> fields) const override;

 private:
  using ColumnarFile::ColumnarFile;

  int64_t GroupOf(int64_t part) const override { return groups_[part]; }

  std::vector<int64_t> groups_;  // Those that have rows.
};

}  // namespace millrace::arrow
