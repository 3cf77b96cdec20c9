#include "millrace/storage/row_index.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kMark = "mrindex1";  // The last character is the version.
constexpr std::string_view kWhat = "index";
constexpr size_t kFormatBytes = 8;
constexpr int64_t kIndexBytesMax = int64_t{1} << 36;

absl::Status Damaged(std::string_view how) {
  return codec::Taker({}, kWhat).Damaged(how);
}

absl::Status CheckIsOf(codec::Taker& taker, RowFormat format, const BlobInfo& file) {
  const std::string_view name = TRY(taker.Bytes(kFormatBytes));
  const uint64_t file_bytes = TRY(taker.Number(8));
  const std::string_view version = TRY(taker.Bytes(TRY(taker.Number(2))));
  if (name.substr(0, name.find('\0')) == Name(format) &&
      file_bytes == static_cast<uint64_t>(file.bytes) && version == file.version) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(base::StrCat(
      "index is stale: ", file.path, " has changed since, or is of format ",
      Name(format), " where the index is not"));
}

absl::StatusOr<RowIndex> TakeOffsets(codec::Taker& taker, uint64_t rows,
                                     int64_t file_bytes) {
  // Every row takes a byte at least, here and in the file.
  if (rows > taker.left() || rows > static_cast<uint64_t>(file_bytes)) {
    return Damaged("it has fewer rows than it says");
  }
  std::vector<int64_t> offsets;
  offsets.reserve(rows + 1);
  uint64_t offset = 0;
  for (uint64_t i = 0; i <= rows; ++i) {
    const uint64_t step = TRY(taker.Varint());
    if (i > 0 && step == 0) return Damaged("a row has no bytes");
    if (step > static_cast<uint64_t>(file_bytes) - offset) {
      return Damaged("a row ends behind the file");
    }
    offset += step;
    offsets.push_back(static_cast<int64_t>(offset));
  }
  if (taker.left() > 0) return Damaged("it has bytes that mean nothing");
  return RowIndex(std::move(offsets));
}

// Shows a scanner the bytes of a file, and keeps where rows begin.
class Builder {
 public:
  Builder(const Blob& blob, RowScanner& scanner) : blob_(blob), scanner_(scanner) {}

  absl::StatusOr<RowIndex> Build() {
    while (true) {
      const bool is_rest = place_ + std::ssize(window_) >= blob_.info().bytes;
      const Found found = scanner_.Look(window_, is_rest);
      TRY(Pass(found.skip));
      switch (found.kind) {
        case Found::Kind::kMore:
          TRY(Fill(found.size));
          break;
        case Found::Kind::kContent:
          TRY(Pass(found.size));
          break;
        case Found::Kind::kRow:
          offsets_.push_back(scanner_.row().begin);
          break;
        case Found::Kind::kBroken:
          return scanner_.status();
        case Found::Kind::kEnd:
          offsets_.push_back(place_);
          return RowIndex(std::move(offsets_));
      }
    }
  }

 private:
  static constexpr int64_t kWindowBytes = 64 << 10;

  absl::Status Fill(int64_t size) {
    const int64_t rest = blob_.info().bytes - place_;
    if (std::ssize(window_) >= std::min(size, rest)) return absl::OkStatus();
    room_.resize(std::min(rest, std::max(size, kWindowBytes)));
    const absl::Span<std::byte> room(reinterpret_cast<std::byte*>(room_.data()),
                                     room_.size());
    const int64_t got = TRY(blob_.Read(place_, room));
    CHECK_EQ(got, std::ssize(room));
    window_ = room_;
    return absl::OkStatus();
  }

  absl::Status Pass(int64_t size) {
    if (size > blob_.info().bytes - place_) {
      return absl::DataLossError(
          base::StrCat("file ends in the middle of a row: ", blob_.info().path,
                       " at byte ", blob_.info().bytes));
    }
    place_ += size;
    window_.remove_prefix(std::min<size_t>(size, window_.size()));
    return absl::OkStatus();
  }

  const Blob& blob_;
  RowScanner& scanner_;
  std::string room_;
  std::string_view window_;  // What is left of it, from `place_` on.
  int64_t place_ = 0;
  std::vector<int64_t> offsets_;
};

}  // namespace

RowIndex::RowIndex(std::vector<int64_t> offsets) : offsets_(std::move(offsets)) {
  CHECK(!offsets_.empty());
  CHECK(std::ranges::adjacent_find(offsets_, std::greater_equal<>()) == offsets_.end());
}

std::string IndexPath(std::string_view path) { return base::StrCat(path, ".mrindex"); }

std::string EncodeIndex(const RowIndex& index, RowFormat format, const BlobInfo& file) {
  std::string out(kMark);
  out += Name(format);
  out.resize(kMark.size() + kFormatBytes);
  codec::PutNumber(file.bytes, 8, out);
  codec::PutNumber(file.version.size(), 2, out);
  out += file.version;
  codec::PutNumber(index.rows(), 8, out);
  int64_t before = 0;
  for (const int64_t offset : index.offsets()) {
    codec::PutVarint(offset - before, out);
    before = offset;
  }
  codec::PutNumber(codec::MaskCrc32c(codec::Crc32c(out)), 4, out);
  return out;
}

absl::StatusOr<RowIndex> DecodeIndex(std::string_view bytes, RowFormat format,
                                     const BlobInfo& file) {
  if (bytes.size() < kMark.size() + 4) return Damaged("it is cut off");
  if (!bytes.starts_with(kMark)) return Damaged("it is no index of this version");
  codec::Taker checksum(bytes.substr(bytes.size() - 4), kWhat);
  const std::string_view content = bytes.substr(0, bytes.size() - 4);
  if (TRY(checksum.Number(4)) != codec::MaskCrc32c(codec::Crc32c(content))) {
    return Damaged("its checksum does not fit");
  }
  codec::Taker taker(content.substr(kMark.size()), kWhat);
  TRY(CheckIsOf(taker, format, file));
  const uint64_t rows = TRY(taker.Number(8));
  return TakeOffsets(taker, rows, file.bytes);
}

absl::StatusOr<RowIndex> BuildIndex(const Blob& blob, RowScanner& scanner) {
  absl::StatusOr<RowIndex> index = Builder(blob, scanner).Build();
  if (!index.ok()) return base::Annotate(index.status(), blob.info().path);
  return index;
}

absl::StatusOr<std::optional<RowIndex>> LoadIndex(const BlobStore& store,
                                                  const BlobInfo& file,
                                                  RowFormat format) {
  const std::string path = IndexPath(file.path);
  const absl::StatusOr<BlobInfo> info = store.Find(path);
  if (absl::IsNotFound(info.status())) return std::nullopt;
  TRY(info.status());
  const std::string bytes = TRY(ReadWhole(store, *info, kIndexBytesMax));
  absl::StatusOr<RowIndex> index = DecodeIndex(bytes, format, file);
  if (absl::IsFailedPrecondition(index.status())) return std::nullopt;
  if (!index.ok()) {
    return base::Annotate(index.status(),
                          base::StrCat(path, " (remove it, or make it anew)"));
  }
  return std::optional<RowIndex>(*std::move(index));
}

absl::Status SaveIndex(const BlobStore& store, const BlobInfo& file, RowFormat format,
                       const RowIndex& index) {
  const std::unique_ptr<BlobWriter> writer = TRY(store.Create(IndexPath(file.path)));
  TRY(writer->Append(EncodeIndex(index, format, file)));
  return writer->Publish(Sync::kNow);
}

}  // namespace millrace::storage
