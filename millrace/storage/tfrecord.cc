#include "millrace/storage/tfrecord.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::storage {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kChecksumBytes = 4;
constexpr int64_t kHeadBytes = kLengthBytes + kChecksumBytes;

template <typename T>
T Load(std::string_view bytes) {
  T number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

absl::Status CutOff(int64_t offset) {
  return absl::DataLossError(base::StrCat(
      "TFRecord ends in the middle of a row, which begins at byte ", offset,
      ": the file was not written to its end or not copied whole"));
}

}  // namespace

Found TfrecordScanner::Look(std::string_view bytes, bool is_rest) {
  return in_row_ ? LookAtChecksum(bytes, is_rest) : LookAtLength(bytes, is_rest);
}

Found TfrecordScanner::LookAtLength(std::string_view bytes, bool is_rest) {
  if (bytes.size() < kHeadBytes) {
    if (!is_rest) return More(kHeadBytes);
    if (bytes.empty()) return End();
    return Broken(CutOff(offset_));
  }
  const auto length = Load<uint64_t>(bytes);
  const auto masked = Load<uint32_t>(bytes.substr(kLengthBytes));
  // Of such a length the checksum may fit and yet the file cannot be right.
  constexpr uint64_t kLengthMax = std::numeric_limits<int64_t>::max() / 2;
  if (codec::MaskCrc32c(codec::Crc32c(bytes.substr(0, kLengthBytes))) != masked ||
      length > kLengthMax) {
    return Broken(absl::DataLossError(base::StrCat(
        "TFRecord has a corrupt length at byte ", offset_,
        ": the file is damaged, or is no TFRecord (or a compressed one whose name does "
        "not end in .gz, .zst, .lz4 or .sz)")));
  }
  row_.begin = offset_;
  const auto size = static_cast<int64_t>(length);
  offset_ += kHeadBytes + size;
  in_row_ = true;
  return Content(kHeadBytes, size, 0);
}

Found TfrecordScanner::LookAtChecksum(std::string_view bytes, bool is_rest) {
  if (bytes.size() < kChecksumBytes) {
    if (!is_rest) return More(kChecksumBytes);
    return Broken(CutOff(row_.begin));
  }
  row_.crc = codec::UnmaskCrc32c(Load<uint32_t>(bytes));
  offset_ += kChecksumBytes;
  in_row_ = false;
  return Row(kChecksumBytes);
}

}  // namespace millrace::storage
