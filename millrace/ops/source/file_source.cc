#include "millrace/ops/source/file_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
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
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/row_builder.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {
namespace {

// Reads files straight to where their bytes stay.
class FileReader final : public Reader {
 public:
  // Requires: the files, those of the rows, outlive it.
  FileReader(absl::Span<const WholeFile> files, const lanes::RowRange& rows,
             const FileFields& fields, const SourceContext& context)
      : files_(files),
        fields_(fields),
        context_(context),
        rows_(rows),
        builder_(fields.spec, context) {}

  absl::Status Fetch() override {
    while (!files_.empty() && !builder_.is_full() && !bad_) {
      TRY(ReadFile(files_.front()));
      files_.remove_prefix(1);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<core::Block>> Next(BadRows& bad_rows) override {
    if (bad_ && builder_.rows() == 0) {
      TRY(bad_rows.LeaveOut({.why = *std::exchange(bad_, std::nullopt)}));
    }
    if (files_.empty() && builder_.rows() == 0) return std::nullopt;
    return TRY(builder_.TakeBlock(rows_.split));
  }

 private:
  absl::Status ReadFile(const WholeFile& file) {
    const std::unique_ptr<storage::Blob> blob = TRY(context_.blobs.Open(file.info));
    std::byte* const room = TRY(builder_.RoomFor(fields_.bytes, file.info.bytes));
    absl::Status read =
        blob->Read(0, absl::Span<std::byte>(room, file.info.bytes)).status();
    if (!read.ok()) {
      builder_.DropRow();
      return read;
    }
    TRY(builder_.Put(fields_.path, file.info.path));
    if (fields_.label >= 0) builder_.PutNumber(fields_.label, file.label);
    const absl::Status row = builder_.EndRow(rows_.begin++);
    if (!row.ok()) {
      bad_ = absl::Status(row.code(),
                          base::StrCat(row.message(), "; file ", file.info.path));
    }
    return absl::OkStatus();
  }

  absl::Span<const WholeFile> files_;  // Still to be read.
  const FileFields& fields_;
  const SourceContext context_;
  lanes::RowRange rows_;
  RowBuilder builder_;
  std::optional<absl::Status> bad_;  // Of the row behind those in the builder.
};

// One split for a run of files: named by the first, versioned by all.
lanes::Split SplitOf(absl::Span<const WholeFile> files) {
  base::Bytes bytes;
  base::Sha256Hasher hasher;
  for (const WholeFile& file : files) {
    bytes += base::Bytes(file.info.bytes);
    hasher.UpdateNumber(file.info.path.size()).Update(file.info.path);
    hasher.UpdateNumber(file.info.version.size()).Update(file.info.version);
  }
  return {
      .name = base::StrCat(files.front().info.path, " and ", files.size() - 1, " more"),
      .bytes = bytes,
      .version = base::ToHex(hasher.Finish()),
      .rows = std::ssize(files),
      .seekable = true};
}

}  // namespace

FileSource::FileSource(FileFields fields, const SourceContext& context)
    : fields_(std::move(fields)), context_(context) {}

absl::StatusOr<lanes::Manifest> FileSource::List() {
  CHECK(files_.empty()) << "a source is listed once";
  files_ = TRY(Find());
  lanes::Manifest manifest;
  absl::Span<const WholeFile> left = files_;
  while (!left.empty()) {
    const size_t run = std::min<size_t>(left.size(), kFilesPerSplit);
    manifest.splits.push_back(SplitOf(left.first(run)));
    left.remove_prefix(run);
  }
  return manifest;
}

std::string FileSource::NameOfRow(int64_t split, int64_t row) const {
  const int64_t place = split * kFilesPerSplit + row;
  CHECK(place >= 0 && place < std::ssize(files_));
  return files_[place].info.path;
}

// A file is a row, from its first byte on.
absl::StatusOr<std::vector<RowPlace>> FileSource::PlacesOf(
    int64_t split, absl::Span<const int64_t> rows) const {
  std::vector<RowPlace> places;
  for (const int64_t row : rows) {
    places.push_back({.file = NameOfRow(split, row), .row = 0, .byte = 0});
  }
  return places;
}

absl::StatusOr<std::unique_ptr<Reader>> FileSource::Open(
    const lanes::RowRange& rows) const {
  const int64_t begin = rows.split * kFilesPerSplit + rows.begin;
  CHECK(rows.begin >= 0 && rows.begin <= rows.end && rows.end <= kFilesPerSplit);
  CHECK(rows.split >= 0 && begin + rows.rows() <= std::ssize(files_));
  return std::make_unique<FileReader>(
      absl::MakeConstSpan(files_).subspan(begin, rows.rows()), rows, fields_, context_);
}

}  // namespace millrace::ops
