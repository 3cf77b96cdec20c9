// A source of files whose rows a scanner finds: each file is a split. A file with an
// index beside it is counted and can be read from any row; others are read from their
// beginning and counted by nobody. Compressed files are told by their names.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/core/spec.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/row_index.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {

struct ScanFormat {
  storage::RowFormat format = storage::RowFormat::kLines;
  core::Spec spec;       // The scanner's fields, in its order, then the key.
  bool has_key = false;  // The last field is the row's key.
  bool sums = false;     // Rows come with checksums of their content.
  // Makes a scanner that begins with the row at this byte.
  std::function<std::unique_ptr<storage::RowScanner>(int64_t offset)> make_scanner;
};

class ScanSource : public Source {
 public:
  ScanSource(std::vector<std::string> paths, ScanFormat format,
             const SourceContext& context);

  absl::StatusOr<lanes::Manifest> List() override;
  absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const override;

 private:
  struct File {
    storage::BlobInfo info;
    std::optional<storage::RowIndex> index;
  };

  const std::vector<std::string> paths_;
  const ScanFormat format_;
  const SourceContext context_;
  std::vector<File> files_;
};

// Lists files for a source, without the indexes that stand beside them.
absl::StatusOr<std::vector<storage::BlobInfo>> ListFiles(
    const std::vector<std::string>& paths, const SourceContext& context);

}  // namespace millrace::ops
