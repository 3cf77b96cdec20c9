#include "millrace/transport/prefix.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/transport/channel.h"

namespace millrace::transport {
namespace {

constexpr std::string_view kMark = "mrst";
constexpr uint64_t kVersion = 1;
constexpr uint64_t kSummedFlag = 1;
constexpr size_t kSumBytes = 4;

absl::Status CheckSize(std::string_view what, uint64_t bytes, int64_t most) {
  if (bytes <= static_cast<uint64_t>(most)) return absl::OkStatus();
  return absl::ResourceExhaustedError(base::StrCat("a ", what, " of ", bytes,
                                                   " bytes: at most ", most,
                                                   " are taken on this channel"));
}

// The four single bytes behind the mark.
absl::Status ReadTraits(codec::Taker& taker, Prefix& prefix) {
  const uint64_t version = TRY(taker.Number(1));
  if (version != kVersion) {
    return absl::UnimplementedError(
        base::StrCat("a message of version ", version,
                     " of the stream's format: this side knows version ", kVersion));
  }
  const uint64_t kind = TRY(taker.Number(1));
  const uint64_t codec = TRY(taker.Number(1));
  const uint64_t flags = TRY(taker.Number(1));
  if (kind > static_cast<uint64_t>(MessageKind::kPing) ||
      codec > static_cast<uint64_t>(PayloadCodec::kZstd) || flags > kSummedFlag) {
    return absl::UnimplementedError(base::StrCat(
        "a message of kind ", kind, ", codec ", codec, " and flags ", flags,
        ", which this side does not know: run the same version on both"));
  }
  prefix.kind = static_cast<MessageKind>(kind);
  prefix.codec = static_cast<PayloadCodec>(codec);
  prefix.payload_summed = flags == kSummedFlag;
  return absl::OkStatus();
}

}  // namespace

std::string WritePrefix(const Prefix& prefix) {
  std::string out;
  out.reserve(kPrefixBytes);
  out += kMark;
  codec::PutNumber(kVersion, 1, out);
  codec::PutNumber(static_cast<uint64_t>(prefix.kind), 1, out);
  codec::PutNumber(static_cast<uint64_t>(prefix.codec), 1, out);
  codec::PutNumber(prefix.payload_summed ? kSummedFlag : 0, 1, out);
  codec::PutNumber(static_cast<uint64_t>(prefix.head_bytes), 4, out);
  codec::PutNumber(static_cast<uint64_t>(prefix.payload_bytes), 8, out);
  codec::PutNumber(prefix.head_crc, 4, out);
  codec::PutNumber(0, 4, out);
  codec::PutNumber(codec::Crc32c(out), kSumBytes, out);
  CHECK_EQ(out.size(), kPrefixBytes);
  return out;
}

absl::StatusOr<Prefix> ReadPrefix(std::string_view bytes, int64_t payload_bytes_max) {
  CHECK_EQ(bytes.size(), kPrefixBytes);
  codec::Taker taker(bytes, "stream");
  if (TRY(taker.Bytes(kMark.size())) != kMark) {
    return taker.Damaged("what came is no message");
  }
  codec::Taker end(bytes.substr(bytes.size() - kSumBytes), "stream");
  const std::string_view summed = bytes.substr(0, bytes.size() - kSumBytes);
  if (TRY(end.Number(kSumBytes)) != codec::Crc32c(summed)) {
    return taker.Damaged("the checksum of a message's prefix does not fit");
  }
  Prefix prefix;
  TRY(ReadTraits(taker, prefix));
  const uint64_t head_bytes = TRY(taker.Number(4));
  const uint64_t payload_bytes = TRY(taker.Number(8));
  prefix.head_crc = static_cast<uint32_t>(TRY(taker.Number(4)));
  TRY(CheckSize("head", head_bytes, kHeadBytesMax));
  TRY(CheckSize("payload", payload_bytes, payload_bytes_max));
  prefix.head_bytes = static_cast<int64_t>(head_bytes);
  prefix.payload_bytes = static_cast<int64_t>(payload_bytes);
  if (prefix.codec != PayloadCodec::kNone && payload_bytes == 0) {
    return taker.Damaged("a message without payload has a codec of it");
  }
  if (prefix.kind == MessageKind::kPing && head_bytes + payload_bytes > 0) {
    return taker.Damaged("a ping has a head or a payload");
  }
  return prefix;
}

}  // namespace millrace::transport
