// Feeds the decompressors anything, in pieces that the first bytes choose. However the
// bytes are cut up, the content is the same, or there is an error. (Not always the same
// error: of a frame that it sees whole, zstd checks more.)

#include "millrace/codec/decompress.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"

namespace millrace::codec {
namespace {

constexpr int64_t kContentMax = 1 << 20;

struct Outcome {
  std::string content;
  absl::StatusCode code = absl::StatusCode::kOk;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome Unfold(Compression compression, std::string_view bytes, size_t piece,
               size_t room_bytes) {
  const auto unfold = MakeDecompressor(compression, {.content_bytes_max = kContentMax});
  std::vector<std::byte> room(room_bytes);
  Outcome outcome;
  while (true) {
    const absl::StatusOr<Progress> done =
        unfold->Run(bytes.substr(0, piece), absl::MakeSpan(room));
    if (!done.ok()) {
      CHECK(done.status().code() == absl::StatusCode::kDataLoss) << done.status();
      return {"", done.status().code()};
    }
    outcome.content.append(reinterpret_cast<const char*>(room.data()), done->given);
    bytes.remove_prefix(done->taken);
    const bool filled = done->given == std::ssize(room);
    if (!filled && (bytes.empty() || done->taken == 0)) break;
  }
  outcome.code = unfold->Finish().code();
  if (outcome.code != absl::StatusCode::kOk) outcome.content.clear();
  return outcome;
}

}  // namespace
}  // namespace millrace::codec

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millrace::codec::Compression;
  if (size < 3) return 0;
  constexpr std::array kAll = {Compression::kGzip, Compression::kZstd,
                               Compression::kLz4, Compression::kSnappy};
  const Compression compression = kAll[data[0] % kAll.size()];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  const auto whole =
      millrace::codec::Unfold(compression, bytes, bytes.size() + 1, 1 << 16);
  const auto cut =
      millrace::codec::Unfold(compression, bytes, 1 + data[1], 1 + 16 * data[2]);
  if (whole.code == cut.code) CHECK(whole == cut);
  return 0;
}
