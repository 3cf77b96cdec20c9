#include "millrace/ops/source/scan_source.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/decompress.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/index_writer.h"
#include "millrace/ops/source/scan_reader.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/fixed.h"
#include "millrace/storage/row_index.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {

namespace {

bool IsPlain(const storage::BlobInfo& file) {
  return codec::CompressionOfName(file.path) == codec::Compression::kNone;
}

}  // namespace

absl::StatusOr<std::vector<storage::BlobInfo>> ListFiles(
    const std::vector<std::string>& paths, const SourceContext& context) {
  std::vector<storage::BlobInfo> files = TRY(context.blobs.List(paths));
  const std::string ending = storage::IndexPath("");
  std::erase_if(files, [&](const storage::BlobInfo& file) {
    return file.path.ends_with(ending);
  });
  return files;
}

ScanSource::ScanSource(std::vector<std::string> paths, ScanFormat format,
                       const SourceContext& context)
    : paths_(std::move(paths)), format_(std::move(format)), context_(context) {}

absl::StatusOr<ScanSource::File> ScanSource::FileOf(storage::BlobInfo info) const {
  File file = {.info = std::move(info), .index = {}, .fixed_rows = {}};
  if (IsPlain(file.info) && format_.indexes) {
    file.index = TRY(storage::LoadIndex(context_.blobs, file.info, format_.format));
  }
  if (IsPlain(file.info) && format_.fixed) {
    const int64_t rows = storage::CountFixed(file.info.bytes, *format_.fixed);
    if (rows >= 0) file.fixed_rows = rows;
  }
  return file;
}

absl::StatusOr<lanes::Manifest> ScanSource::List() {
  CHECK(files_.empty()) << "a source is listed once";
  lanes::Manifest manifest;
  for (storage::BlobInfo& info : TRY(ListFiles(paths_, context_))) {
    File file = TRY(FileOf(std::move(info)));
    manifest.splits.push_back({.name = file.info.path,
                               .bytes = base::Bytes(file.info.bytes),
                               .version = file.info.version,
                               .rows = file.rows(),
                               .seekable = file.rows().has_value()});
    files_.push_back(std::move(file));
  }
  return manifest;
}

// A file that was not counted is read from its start, also where it has an index now.
absl::Status ScanSource::Recall(const lanes::Manifest& listed) {
  CHECK(files_.empty()) << "a source is listed once";
  for (const lanes::Split& split : listed.splits) {
    storage::BlobInfo info = {
        .path = split.name, .bytes = split.bytes.count(), .version = split.version};
    File file = {.info = info, .index = {}, .fixed_rows = {}};
    if (split.rows) file = TRY(FileOf(std::move(info)));
    if (split.rows && file.rows() != split.rows) {
      return absl::FailedPreconditionError(
          base::StrCat("listed with ", *split.rows,
                       " rows, and its index is gone or another: make "
                       "it again with `millrace data index ",
                       split.name, "`; file ", split.name));
    }
    files_.push_back(std::move(file));
  }
  return absl::OkStatus();
}

int64_t ScanSource::OffsetOf(const File& file, int64_t row) const {
  if (file.index) {
    const bool with_header = format_.begins_with_header && row == 0;
    return with_header ? 0 : file.index->OffsetOf(row);
  }
  return format_.fixed->header_bytes + row * format_.fixed->record_bytes;
}

std::unique_ptr<storage::RowScanner> ScanSource::MakeScanner(const File& file,
                                                             int64_t offset) const {
  if (!file.fixed_rows) return format_.make_scanner(offset);
  return std::make_unique<storage::FixedScanner>(storage::FixedOptions{
      .offset = offset, .record_bytes = format_.fixed->record_bytes});
}

ScanPlan ScanSource::PlanOf(const lanes::RowRange& rows) const {
  CHECK(rows.split >= 0 && rows.split < std::ssize(files_)) << "no such split";
  const File& file = files_[rows.split];
  ScanPlan plan = {.file = file.info,
                   .rows = {.path = file.info.path,
                            .split = rows.split,
                            .spec = format_.spec,
                            .has_key = format_.has_key,
                            .sums = format_.sums,
                            .make_parser = format_.make_parser},
                   .feed = {.begin = 0, .end = file.info.bytes},
                   .range = rows};
  if (const std::optional<int64_t> count = file.rows()) {
    CHECK(rows.begin >= 0 && rows.end <= *count) << file.info.path;
    plan.feed.begin = OffsetOf(file, rows.begin);
    plan.feed.end = std::max(plan.feed.begin, OffsetOf(file, rows.end));
    plan.row = rows.begin;
  }
  return plan;
}

absl::StatusOr<std::unique_ptr<Reader>> ScanSource::Open(
    const lanes::RowRange& rows) const {
  ScanPlan plan = PlanOf(rows);
  const File& file = files_[rows.split];
  const bool is_whole = rows.begin == 0 && rows.end == lanes::kRowsMax;
  const bool can_index = format_.indexes && IsPlain(file.info) && !file.index;
  if (context_.build_indexes && can_index && is_whole) {
    plan.index =
        std::make_shared<IndexWriter>(context_.blobs, file.info, format_.format);
  }
  return std::make_unique<ScanReader>(plan, MakeScanner(file, plan.feed.begin),
                                      context_);
}

// Rows are found, and never made.
absl::Status ScanSource::Walk(const lanes::RowRange& rows, OnRow on_row) const {
  ScanPlan plan = PlanOf(rows);
  plan.on_row = std::move(on_row);
  ScanReader reader(plan, MakeScanner(files_[rows.split], plan.feed.begin), context_);
  do {
    TRY(reader.Fetch());
  } while (TRY(reader.Find()));
  return absl::OkStatus();
}

// Rows that can be read on their own are looked at one by one; else the file is gone
// through once.
absl::StatusOr<std::vector<RowPlace>> ScanSource::PlacesOf(
    int64_t split, absl::Span<const int64_t> rows) const {
  const File& file = files_[split];
  RowRanges ranges;
  if (file.rows()) {
    for (const int64_t row : rows) ranges.push_back({split, row, row + 1});
  } else if (!rows.empty()) {
    ranges.push_back({split, std::ranges::min(rows), std::ranges::max(rows) + 1});
  }
  std::map<int64_t, std::optional<RowPlace>> wanted;
  for (const int64_t row : rows) wanted[row] = std::nullopt;
  for (const lanes::RowRange& range : ranges) {
    TRY(Walk(range, [&](int64_t number, const storage::FoundRow& row) {
      const auto found = wanted.find(number);
      if (found == wanted.end()) return;
      found->second =
          RowPlace{.file = file.info.path, .row = number, .byte = row.begin};
      if (!row.key.empty()) found->second->key = std::string(row.key);
    }));
  }
  std::vector<RowPlace> places;
  for (const int64_t row : rows) {
    if (!wanted[row]) {
      return absl::FailedPreconditionError(
          base::StrCat("row ", row, " is no longer there: the file was changed; file ",
                       file.info.path));
    }
    places.push_back(*wanted[row]);
  }
  return places;
}

}  // namespace millrace::ops
