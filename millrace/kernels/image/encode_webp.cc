#include "millrace/kernels/image/encode_webp.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webp/encode.h"
#include "webp/types.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

absl::StatusOr<std::string> EncodeWebp(const PixelView& pixels, int quality) {
  CHECK_EQ(pixels.channels, kColours);
  CHECK(pixels.size.height >= 1 && pixels.size.width >= 1);
  CHECK(quality >= 1 && quality <= 100) << quality;
  if (pixels.size.height > kWebpSideMax || pixels.size.width > kWebpSideMax) {
    return absl::InvalidArgumentError(base::StrCat(
        "no side of a WebP is longer than ", kWebpSideMax, " pixels, but the image is ",
        pixels.size.height, " x ", pixels.size.width));
  }
  uint8_t* bytes = nullptr;
  const size_t size = WebPEncodeRGB(pixels.first, static_cast<int>(pixels.size.width),
                                    static_cast<int>(pixels.size.height),
                                    static_cast<int>(pixels.stride),
                                    static_cast<float>(quality), &bytes);
  if (size == 0) return absl::ResourceExhaustedError("no memory for libwebp");
  std::string encoded(reinterpret_cast<const char*>(bytes), size);
  WebPFree(bytes);
  return encoded;
}

}  // namespace millrace::kernels
