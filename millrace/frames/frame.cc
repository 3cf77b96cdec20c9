#include "millrace/frames/frame.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/core/buffer.h"
#include "millrace/frames/layout.h"

namespace millrace::frames {
namespace {

constexpr std::string_view kMark = "mrframe1";  // The last character is the version.
constexpr size_t kChecksumBytes = 4;

}  // namespace

std::string WritePreamble(const Preamble& preamble) {
  std::string out;
  out.reserve(static_cast<size_t>(preamble.head_bytes()));
  out += kMark;
  codec::PutNumber(preamble.header_bytes, 8, out);
  codec::PutNumber(preamble.body_bytes, 8, out);
  codec::PutNumber(preamble.rows, 8, out);
  codec::PutNumber(preamble.header_crc, 4, out);
  codec::PutNumber(preamble.body_crc, 4, out);
  out.resize(kPreambleBytes - kChecksumBytes);
  codec::PutNumber(codec::Crc32c(out), kChecksumBytes, out);
  return out;
}

absl::StatusOr<Preamble> ReadPreamble(std::string_view bytes) {
  CHECK_EQ(static_cast<int64_t>(bytes.size()), kPreambleBytes);
  codec::Taker taker(bytes, kWhat);
  if (TRY(taker.Bytes(kMark.size())) != kMark) {
    return taker.Damaged("it is no frame of this version");
  }
  Preamble preamble;
  preamble.header_bytes = static_cast<int64_t>(TRY(taker.Number(8)));
  preamble.body_bytes = static_cast<int64_t>(TRY(taker.Number(8)));
  preamble.rows = static_cast<int64_t>(TRY(taker.Number(8)));
  preamble.header_crc = static_cast<uint32_t>(TRY(taker.Number(4)));
  preamble.body_crc = static_cast<uint32_t>(TRY(taker.Number(4)));
  TRY(taker.Bytes(taker.left() - kChecksumBytes));
  const std::string_view summed = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (TRY(taker.Number(kChecksumBytes)) != codec::Crc32c(summed)) {
    return taker.Damaged("the checksum of its first bytes does not fit");
  }
  const auto sane = [](int64_t size, int64_t most) {
    return size >= 0 && size <= most;
  };
  if (!sane(preamble.header_bytes, kHeaderBytesMax) ||
      !sane(preamble.body_bytes, kFrameBytesMax) ||
      !sane(preamble.rows, kFrameBytesMax) ||
      preamble.body_bytes % kFrameAlignment != 0) {
    return taker.Damaged("it has an absurd size");
  }
  return preamble;
}

absl::StatusOr<FrameSize> ReadSize(std::string_view preamble) {
  const Preamble read = TRY(ReadPreamble(preamble));
  return FrameSize{.bytes = read.head_bytes() + read.body_bytes, .rows = read.rows};
}

Frame::Frame(std::string head, std::vector<core::Buffer> body, int64_t rows)
    : head_(std::move(head)), body_(std::move(body)), rows_(rows) {
  bytes_ = static_cast<int64_t>(head_.size());
  CHECK_EQ(bytes_ % kFrameAlignment, 0);
  for (const core::Buffer& buffer : body_) bytes_ += PaddedBytes(buffer.size());
}

void Frame::SetHead(std::string head) {
  CHECK(head_.empty());
  CHECK_EQ(head.size() % kFrameAlignment, 0);
  head_ = std::move(head);
  bytes_ += static_cast<int64_t>(head_.size());
}

absl::Status Frame::ForEachPiece(
    absl::FunctionRef<absl::Status(std::string_view)> take) const {
  static constexpr char kZeros[kFrameAlignment] = {};
  TRY(take(head_));
  for (const core::Buffer& buffer : body_) {
    if (buffer.size() > 0) TRY(take(buffer.text()));
    const int64_t padding = PaddedBytes(buffer.size()) - buffer.size();
    if (padding > 0) TRY(take({kZeros, static_cast<size_t>(padding)}));
  }
  return absl::OkStatus();
}

void Frame::CopyTo(std::byte* to) const {
  (void)ForEachPiece([&](std::string_view piece) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
    return absl::OkStatus();
  });
}

}  // namespace millrace::frames
