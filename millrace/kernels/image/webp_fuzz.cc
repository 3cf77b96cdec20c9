// Feeds the WebP decoder anything: pixels, the same twice, or an error with a message.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/kernels/image/decode_webp.h"
#include "millrace/kernels/image/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::kernels;    // NOLINT: there is nothing else here.
  constexpr int64_t kPixels = 1 << 18;  // Larger images only cost time.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<ImageSize> image = WebpSize(bytes);
  if (!image.ok()) {
    CHECK(!image.status().message().empty());
    return 0;
  }
  if (image->pixels() > kPixels) return 0;
  std::vector<uint8_t> pixels(image->pixels() * kColours, 1);
  std::vector<uint8_t> again(image->pixels() * kColours, 2);
  const absl::Status decoded = DecodeWebp(bytes, absl::MakeSpan(pixels));
  if (!decoded.ok()) {
    CHECK(!decoded.message().empty());
    return 0;
  }
  CHECK(DecodeWebp(bytes, absl::MakeSpan(again)).ok());
  CHECK(pixels == again);  // Every pixel was written.
  return 0;
}
