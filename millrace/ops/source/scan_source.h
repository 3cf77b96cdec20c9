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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/spec.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/recalled.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/row_parser.h"
#include "millrace/ops/source/scan_reader.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/fixed.h"
#include "millrace/storage/row_index.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {

struct ScanFormat {
  storage::RowFormat format = storage::RowFormat::kLines;
  core::Spec spec;                  // The scanner's fields, in its order, then the key.
  bool has_key = false;             // The last field is the row's key.
  bool sums = false;                // Rows come with checksums of their content.
  bool indexes = true;              // An index of the format fits these files.
  bool begins_with_header = false;  // It is looked at by who reads the first row.
  // Set where rows have one length: they are then counted by a file's size.
  std::optional<storage::FixedOptions> fixed = {};
  // Set where the scanner's one field is a text that these fields are parsed from.
  MakeRowParser make_parser = {};
  // Makes a scanner that begins with the row at this byte.
  std::function<std::unique_ptr<storage::RowScanner>(int64_t offset)> make_scanner;
};

class ScanSource : public Source, public Recalls {
 public:
  ScanSource(std::vector<std::string> paths, ScanFormat format,
             const SourceContext& context);

  absl::StatusOr<lanes::Manifest> List() override;
  absl::Status Recall(const lanes::Manifest& listed) override;
  absl::StatusOr<std::vector<RowPlace>> PlacesOf(
      int64_t split, absl::Span<const int64_t> rows) const override;
  absl::StatusOr<std::unique_ptr<Reader>> Open(
      const lanes::RowRange& rows) const override;

 private:
  struct File {
    storage::BlobInfo info;
    std::optional<storage::RowIndex> index;
    std::optional<int64_t> fixed_rows;  // Where they have one length and fill the file.

    std::optional<int64_t> rows() const {
      return index ? std::optional<int64_t>(index->rows()) : fixed_rows;
    }
  };

  // Finds what tells its rows: an index beside it, or its size.
  absl::StatusOr<File> FileOf(storage::BlobInfo info) const;
  int64_t OffsetOf(const File& file, int64_t row) const;
  ScanPlan PlanOf(const lanes::RowRange& rows) const;
  absl::Status Walk(const lanes::RowRange& rows, OnRow on_row) const;
  std::unique_ptr<storage::RowScanner> MakeScanner(const File& file,
                                                   int64_t offset) const;

  const std::vector<std::string> paths_;
  const ScanFormat format_;
  const SourceContext context_;
  std::vector<File> files_;
};

// Lists files for a source, without the indexes that stand beside them.
absl::StatusOr<std::vector<storage::BlobInfo>> ListFiles(
    const std::vector<std::string>& paths, const SourceContext& context);

}  // namespace millrace::ops
