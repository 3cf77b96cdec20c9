#include "millrace/ops/source/scan_source.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/codec/decompress.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/index_writer.h"
#include "millrace/ops/source/scan_reader.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/row_index.h"

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

absl::StatusOr<lanes::Manifest> ScanSource::List() {
  CHECK(files_.empty()) << "a source is listed once";
  lanes::Manifest manifest;
  for (storage::BlobInfo& info : TRY(ListFiles(paths_, context_))) {
    File file = {.info = std::move(info), .index = {}};
    if (IsPlain(file.info)) {
      file.index = TRY(storage::LoadIndex(context_.blobs, file.info, format_.format));
    }
    std::optional<int64_t> rows;
    if (file.index) rows = file.index->rows();
    manifest.splits.push_back({.name = file.info.path,
                               .bytes = base::Bytes(file.info.bytes),
                               .version = file.info.version,
                               .rows = rows,
                               .seekable = file.index.has_value()});
    files_.push_back(std::move(file));
  }
  return manifest;
}

absl::StatusOr<std::unique_ptr<Reader>> ScanSource::Open(
    const lanes::RowRange& rows) const {
  CHECK(rows.split >= 0 && rows.split < std::ssize(files_)) << "no such split";
  const File& file = files_[rows.split];
  ScanPlan plan = {.file = file.info,
                   .rows = {.path = file.info.path,
                            .split = rows.split,
                            .spec = format_.spec,
                            .has_key = format_.has_key,
                            .sums = format_.sums},
                   .feed = {.begin = 0, .end = file.info.bytes},
                   .range = rows};
  if (file.index) {
    CHECK(rows.begin >= 0 && rows.end <= file.index->rows()) << file.info.path;
    plan.feed.begin = file.index->OffsetOf(rows.begin);
    plan.feed.end = file.index->OffsetOf(rows.end);
    plan.row = rows.begin;
  }
  const bool is_whole = rows.begin == 0 && rows.end == lanes::kRowsMax;
  if (context_.build_indexes && IsPlain(file.info) && is_whole && !file.index) {
    plan.index =
        std::make_shared<IndexWriter>(context_.blobs, file.info, format_.format);
  }
  auto scanner = format_.make_scanner(plan.feed.begin);
  return std::make_unique<ScanReader>(plan, std::move(scanner), context_);
}

}  // namespace millrace::ops
