#include "millrace/adapters/arrow/parquet_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/interface.h"
#include "millrace/adapters/arrow/module.h"
#include "millrace/base/status.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {
namespace {

// Ranges with less between them are read as one, up to a size: several threads share
// the reading.
constexpr int64_t kGapMax = 64 << 10;
constexpr int64_t kReadMax = 1 << 20;

// What the module reads a footer through; keeps the error that it cannot carry.
struct Reading {
  const storage::Blob& blob;
  absl::Status status;

  static int64_t Read(void* context, int64_t offset, int64_t size, void* room) {
    auto* const reading = static_cast<Reading*>(context);
    const absl::StatusOr<int64_t> got = reading->blob.Read(
        offset, absl::Span<std::byte>(static_cast<std::byte*>(room), size));
    if (got.ok()) return *got;
    reading->status = got.status();
    return -1;
  }
};

}  // namespace

absl::StatusOr<std::shared_ptr<const ColumnarFile>> ParquetFile::Open(
    const storage::Blob& blob, const MillraceArrowFunctions* module) {
  Reading reading = {.blob = blob, .status = {}};
  const MillraceArrowBytes bytes = {
      .context = &reading, .size = blob.info().bytes, .read = Reading::Read};
  MillraceArrowFile* opened = nullptr;
  MillraceArrowError error = {};
  const int32_t kind = module->open_parquet(&bytes, &opened, &error);
  TRY(reading.status);
  if (kind != kMillraceArrowOk) return ErrorOf(kind, error, blob.info().path);
  std::shared_ptr<ParquetFile> file(new ParquetFile(blob.info(), module));
  TRY(file->Take(FileHandle(opened, FileCloser{module})));
  for (int64_t group = 0; group < module->groups(file->file()); ++group) {
    const int64_t rows = module->group_rows(file->file(), group);
    if (rows == 0) continue;
    TRY(file->AddPart(rows));
    file->groups_.push_back(group);
  }
  return file;
}

double ParquetFile::RowBytes(int64_t part, absl::Span<const int64_t> fields) const {
  double bytes = 0;
  for (const int64_t field : fields) {
    bytes += static_cast<double>(module().field_bytes(file(), groups_[part], field));
  }
  return bytes / static_cast<double>(EndOf(part) - BeginOf(part));
}

bool ParquetFile::MayHaveNulls(int64_t part, int64_t field) const {
  return module().may_have_nulls(file(), groups_[part], field) != 0;
}

absl::StatusOr<std::vector<Needed>> ParquetFile::NeededFor(
    int64_t part, absl::Span<const int64_t> fields) const {
  std::vector<MillraceArrowRange> ranges;
  for (const int64_t field : fields) {
    int64_t count = 0;
    MillraceArrowError error = {};
    int32_t kind =
        module().ranges(file(), groups_[part], field, nullptr, 0, &count, &error);
    const size_t before = ranges.size();
    ranges.resize(before + count);
    if (kind == kMillraceArrowOk) {
      kind = module().ranges(file(), groups_[part], field, ranges.data() + before,
                             count, &count, &error);
    }
    if (kind != kMillraceArrowOk) return ErrorOf(kind, error, info().path);
  }
  std::ranges::sort(ranges, {}, &MillraceArrowRange::offset);
  std::vector<Needed> needed;
  for (const MillraceArrowRange& range : ranges) {
    Needed* const last = needed.empty() ? nullptr : &needed.back();
    const int64_t end = std::max(range.offset + range.size,
                                 last == nullptr ? 0 : last->offset + last->size);
    if (last != nullptr && range.offset <= last->offset + last->size + kGapMax &&
        end - last->offset <= kReadMax) {
      last->size = end - last->offset;
    } else {
      needed.push_back({range.offset, range.size, range.offset});
    }
  }
  return needed;
}

}  // namespace millrace::arrow
