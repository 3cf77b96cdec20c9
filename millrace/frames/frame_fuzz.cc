// Feeds the decoder anything, with checksums that fit, so that it looks further.

#include "millrace/frames/frame.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/codec/crc32c.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/frames/layout.h"

namespace millrace::frames {
namespace {

core::Buffer Copied(const std::string& bytes) {
  return core::CopyBytes(bytes.data(), static_cast<int64_t>(bytes.size()),
                         core::HeapPool())
      .value();
}

std::string Encoded(const core::Block& block) {
  std::string bytes;
  CHECK(Encode(block, core::HeapPool())
            .value()
            .ForEachPiece([&](std::string_view piece) {
              bytes += piece;
              return absl::OkStatus();
            })
            .ok());
  return bytes;
}

// What is a block is written the same way again. Bytes are compared, not rows: of these
// there may be billions that take none.
void CheckRoundTrip(const core::Block& block) {
  const std::string bytes = Encoded(block);
  CHECK(Encoded(Decode(Copied(bytes)).value()) == bytes);
}

// In one part it is what it is in one piece; cut anywhere, it may not be a block any
// more, but nothing worse happens.
void CheckInParts(const core::Buffer& head, const core::Buffer& body, bool is_block) {
  CHECK_EQ(DecodeParts(head, {body}).ok(), is_block);
  for (int64_t cut = 0; cut <= body.size(); cut += kFrameAlignment) {
    (void)DecodeParts(head, {body.Slice(0, cut), body.Slice(cut, body.size() - cut)});
  }
}

void Try(std::string_view input) {
  if (input.size() < 3) return;
  const auto at = [&](size_t i) { return static_cast<uint8_t>(input[i]); };
  const int64_t rows = at(0);
  const size_t header_size = std::min<size_t>(at(1) * 256U + at(2), input.size() - 3);
  const std::string header(input.substr(3, header_size));
  std::string body(input.substr(3 + header_size));
  body.resize(PaddedBytes(std::ssize(body)));
  const Preamble preamble = {.header_bytes = std::ssize(header),
                             .body_bytes = std::ssize(body),
                             .rows = rows,
                             .header_crc = codec::Crc32c(header),
                             .body_crc = codec::Crc32c(body)};
  std::string bytes = WritePreamble(preamble) + header;
  bytes.resize(preamble.head_bytes());
  const absl::StatusOr<core::Block> block = Decode(Copied(bytes + body));
  if (block.ok()) CheckRoundTrip(*block);
  CheckInParts(Copied(bytes), Copied(body), block.ok());
}

}  // namespace
}  // namespace millrace::frames

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)millrace::frames::Decode(millrace::frames::Copied(std::string(bytes)));
  millrace::frames::Try(bytes);
  return 0;
}
