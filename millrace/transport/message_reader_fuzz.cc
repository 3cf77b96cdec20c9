// Feeds the reader of a stream anything, as it is and with prefixes that fit, cut into
// reads of drawn sizes.

#include "millrace/transport/message_reader.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/chunks.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {
namespace {

constexpr int64_t kPayloadMax = 1 << 16;

void Feed(std::string_view bytes, size_t step) {
  MessageReader reader(base::Bytes(kPayloadMax), nullptr);
  while (!bytes.empty()) {
    int64_t put = 0;
    for (const iovec& room : reader.Room()) {
      const size_t size = std::min({room.iov_len, bytes.size(), step - put});
      if (size > 0) std::memcpy(room.iov_base, bytes.data(), size);
      bytes.remove_prefix(size);
      put += static_cast<int64_t>(size);
    }
    CHECK_GT(put, 0);
    const absl::Status status = reader.Advance(put, [](const Received& message) {
      CHECK_LE(message.head.size(), kHeadBytesMax);
      CHECK_LE(message.payload.size(), kPayloadMax);
    });
    if (!status.ok()) return;
    CHECK(!reader.Progress().empty());
  }
}

// Makes messages of the input whose prefixes and heads are right, so that the reader
// looks further.
std::string WithPrefixes(std::string_view input) {
  std::string bytes;
  while (input.size() > 4) {
    const auto at = [&](size_t i) { return static_cast<uint8_t>(input[i]); };
    const size_t head = std::min<size_t>(at(0), input.size() - 4);
    const int64_t payload = at(2) * int64_t{256} + at(3);
    const std::string_view text = input.substr(4, head);
    const auto codec = static_cast<PayloadCodec>(at(1) / 8 % 3);
    bytes += WritePrefix({.kind = static_cast<MessageKind>(at(1) % 2),
                          .codec = payload > 0 ? codec : PayloadCodec::kNone,
                          .payload_summed = (at(1) & 4) != 0,
                          .head_bytes = static_cast<int64_t>(head),
                          .payload_bytes = payload,
                          .head_crc = codec::Crc32c(text)});
    bytes += text;
    input.remove_prefix(4 + head);
    const size_t more = std::min(static_cast<size_t>(payload), input.size());
    // Of what is compressed, a chunk of about that size.
    if (codec != PayloadCodec::kNone) codec::PutNumber(more, kChunkHeadBytes, bytes);
    bytes += input.substr(0, more);
    input.remove_prefix(more);
  }
  return bytes;
}

}  // namespace
}  // namespace millrace::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t step = 1 + data[0];
  millrace::transport::Feed(input, step);
  millrace::transport::Feed(millrace::transport::WithPrefixes(input), step);
  return 0;
}
