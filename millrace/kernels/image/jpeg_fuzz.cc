// Feeds the JPEG decoder anything. What it decodes whole it must decode by regions as
// well, to the same pixels; everything else must be an error with a message.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/kernels/image/decode_jpeg.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

// A box inside of an image, from bytes that are as random as the file.
Box SomeBox(const ImageSize& size, const uint8_t* data, size_t count) {
  const auto pick = [&](size_t place, int64_t least, int64_t end) {
    return least + int64_t{257} * data[place % count] % (end - least);
  };
  Box box;
  box.height = pick(count - 1, 1, size.height + 1);
  box.width = pick(count - 2, 1, size.width + 1);
  box.top = pick(count - 3, 0, size.height - box.height + 1);
  box.left = pick(count - 4, 0, size.width - box.width + 1);
  return box;
}

void CheckRegion(std::string_view bytes, const Box& box, const PixelView& whole) {
  std::vector<uint8_t> expected(box.size().pixels() * kColours);
  CopyPixels(PartOf(whole, box), expected.data());
  std::vector<uint8_t> region(expected.size());
  const absl::Status decoded = DecodeJpegRegion(bytes, box, absl::MakeSpan(region));
  CHECK(decoded.ok()) << decoded;
  CHECK(region == expected);
}

}  // namespace
}  // namespace millrace::kernels

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::kernels;    // NOLINT: there is nothing else here.
  constexpr int64_t kPixels = 1 << 18;  // Larger images only cost time.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<ImageSize> image = JpegSize(bytes);
  if (!image.ok()) {
    CHECK(!image.status().message().empty());
    return 0;
  }
  if (image->pixels() > kPixels) return 0;
  std::vector<uint8_t> pixels(image->pixels() * kColours);
  const absl::Status decoded = DecodeJpeg(bytes, 1, absl::MakeSpan(pixels));
  CHECK(decoded.ok() || decoded.message().size() > 18) << decoded;
  if (!decoded.ok()) return 0;
  CheckRegion(bytes, SomeBox(*image, data, size), DenseView(pixels.data(), *image));
  const int64_t scale = int64_t{2} << data[size - 1] % 3;
  pixels.resize(ScaledSize(*image, scale).pixels() * kColours);
  const absl::Status scaled = DecodeJpeg(bytes, scale, absl::MakeSpan(pixels));
  CHECK(scaled.ok() || scaled.message().size() > 18) << scaled;
  return 0;
}
