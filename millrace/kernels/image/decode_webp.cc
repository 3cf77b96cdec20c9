#include "millrace/kernels/image/decode_webp.h"

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "webp/decode.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

absl::Status Corrupt(std::string_view why) {
  return absl::InvalidArgumentError(base::StrCat("not a whole WebP: ", why));
}

std::string_view Reason(VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "it is cut off";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "it uses what libwebp does not know";
    default:
      return "it is damaged";
  }
}

const uint8_t* Data(std::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

}  // namespace

bool IsWebp(std::string_view bytes) {
  return bytes.size() >= 12 && bytes.substr(0, 4) == "RIFF" &&
         bytes.substr(8, 4) == "WEBP";
}

absl::StatusOr<ImageSize> WebpSize(std::string_view bytes) {
  if (!IsWebp(bytes)) return Corrupt("it does not begin as one");
  WebPBitstreamFeatures features;
  const VP8StatusCode code = WebPGetFeatures(Data(bytes), bytes.size(), &features);
  if (code != VP8_STATUS_OK) return Corrupt(Reason(code));
  if (features.has_animation != 0) {
    return absl::InvalidArgumentError("an animated WebP is not one image");
  }
  const ImageSize size = {.height = features.height, .width = features.width};
  TRY(CheckImageSize(size));
  return size;
}

absl::Status DecodeWebp(std::string_view bytes, absl::Span<uint8_t> out) {
  const ImageSize size = TRY(WebpSize(bytes));
  CHECK_EQ(static_cast<int64_t>(out.size()), size.pixels() * kColours);
  WebPDecoderConfig config;
  CHECK(WebPInitDecoderConfig(&config) != 0)
      << "libwebp is not the one we compiled for";
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {.rgba = out.data(),
                          .stride = static_cast<int>(size.width * kColours),
                          .size = out.size()};
  const VP8StatusCode code = WebPDecode(Data(bytes), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (code == VP8_STATUS_OK) return absl::OkStatus();
  if (code == VP8_STATUS_OUT_OF_MEMORY) {
    return absl::ResourceExhaustedError("no memory for libwebp");
  }
  return Corrupt(Reason(code));
}

}  // namespace millrace::kernels
