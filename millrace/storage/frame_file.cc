#include "millrace/storage/frame_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/frames/frame.h"
#include "millrace/storage/blob_store.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kMark = "mrfile01";  // The last characters are the version.
constexpr std::string_view kWhat = "file of frames";
constexpr int64_t kEndBytes = 32;
constexpr int64_t kRowsMax = int64_t{1} << 40;     // Of a frame, ...
constexpr int64_t kAllRowsMax = int64_t{1} << 60;  // ... and of all.
constexpr size_t kChecksumBytes = 4;

absl::StatusOr<std::string> ReadText(const Blob& file, int64_t offset, int64_t size) {
  std::string text(size, '\0');
  const absl::Span<std::byte> room(reinterpret_cast<std::byte*>(text.data()),
                                   text.size());
  const int64_t got = TRY(file.Read(offset, room));
  text.resize(got);
  return text;
}

absl::Status Damaged(std::string_view how) {
  return codec::Taker({}, kWhat).Damaged(how);
}

}  // namespace

absl::Status FrameFileWriter::Append(const frames::Frame& frame) {
  TRY(frame.ForEachPiece([&](std::string_view piece) { return file_->Append(piece); }));
  table_.push_back({.bytes = frame.bytes(), .rows = frame.rows()});
  bytes_ += frame.bytes();
  return absl::OkStatus();
}

absl::Status FrameFileWriter::Publish(Sync sync) {
  std::string table;
  codec::PutText(note_, table);
  for (const frames::FrameSize& frame : table_) {
    codec::PutVarint(frame.bytes, table);
    codec::PutVarint(frame.rows, table);
  }
  std::string end(kMark);
  codec::PutNumber(table_.size(), 8, end);
  codec::PutNumber(table.size(), 8, end);
  codec::PutNumber(codec::Crc32c(table), kChecksumBytes, end);
  codec::PutNumber(codec::Crc32c(end), kChecksumBytes, end);
  TRY(file_->Append(table));
  TRY(file_->Append(end));
  return file_->Publish(sync);
}

absl::StatusOr<std::unique_ptr<FrameFile>> FrameFile::Open(std::unique_ptr<Blob> file) {
  std::unique_ptr<FrameFile> opened(new FrameFile(std::move(file)));
  const absl::Status read = opened->ReadTable();
  if (!read.ok()) return base::Annotate(read, opened->name());
  return opened;
}

absl::Status FrameFile::ReadTable() {
  const int64_t bytes = file_->info().bytes;
  if (bytes < kEndBytes) return Damaged("it is cut off");
  const std::string end = TRY(ReadText(*file_, bytes - kEndBytes, kEndBytes));
  codec::Taker taker(end, kWhat);
  if (TRY(taker.Bytes(kMark.size())) != kMark) {
    return Damaged("it does not end as one of this version does; it may be cut off");
  }
  const uint64_t count = TRY(taker.Number(8));
  const uint64_t table_bytes = TRY(taker.Number(8));
  const uint64_t table_crc = TRY(taker.Number(kChecksumBytes));
  const std::string_view summed =
      std::string_view(end).substr(0, end.size() - kChecksumBytes);
  if (TRY(taker.Number(kChecksumBytes)) != codec::Crc32c(summed) ||
      table_bytes > static_cast<uint64_t>(bytes - kEndBytes)) {
    return Damaged("its end is not as it was written");
  }
  const auto begin = bytes - kEndBytes - static_cast<int64_t>(table_bytes);
  const std::string table =
      TRY(ReadText(*file_, begin, static_cast<int64_t>(table_bytes)));
  if (codec::Crc32c(table) != table_crc) {
    return Damaged("the checksum of its table does not fit");
  }
  return TakeTable(table, count, begin);
}

absl::Status FrameFile::TakeTable(std::string_view table, uint64_t count, int64_t end) {
  codec::Taker taker(table, kWhat);
  note_ = TRY(taker.Text());
  int64_t offset = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t bytes = TRY(taker.Count(end - offset));
    if (bytes < frames::kPreambleBytes) return Damaged("a frame has no bytes");
    const int64_t rows = TRY(taker.Count(kRowsMax));
    table_.push_back({.bytes = bytes, .rows = rows});
    offsets_.push_back(offset);
    offset += bytes;
    rows_ += rows;
    if (rows_ > kAllRowsMax) return Damaged("it has absurdly many rows");
  }
  const bool all = offset == end && taker.left() == 0;
  return all ? absl::OkStatus() : Damaged("its table does not speak of all of it");
}

absl::Status FrameFile::Read(int64_t frame, absl::Span<std::byte> room) const {
  CHECK_EQ(std::ssize(room), table_[frame].bytes);
  const int64_t got = TRY(file_->Read(offsets_[frame], room));
  return got == std::ssize(room) ? absl::OkStatus() : Damaged("it is cut off");
}

absl::StatusOr<int64_t> FrameFile::ReadNow(int64_t frame,
                                           absl::Span<std::byte> room) const {
  CHECK_EQ(std::ssize(room), table_[frame].bytes);
  return file_->ReadNow(offsets_[frame], room);
}

}  // namespace millrace::storage
