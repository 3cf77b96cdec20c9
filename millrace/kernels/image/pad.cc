#include "millrace/kernels/image/pad.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

int64_t Remainder(int64_t a, int64_t b) { return (a % b + b) % b; }

// The columns of a box that lie in the image, as a range of the result.
struct Inside {
  int64_t begin = 0;
  int64_t end = 0;

  static Inside Of(const Box& box, int64_t width) {
    const int64_t begin = std::clamp<int64_t>(-box.left, 0, box.width);
    const int64_t end = std::clamp<int64_t>(width - box.left, begin, box.width);
    return {.begin = begin, .end = end};
  }
};

}  // namespace

PadMode PadModeOf(std::string_view name) {
  if (name == "edge") return PadMode::kEdge;
  if (name == "reflect") return PadMode::kReflect;
  if (name == "symmetric") return PadMode::kSymmetric;
  CHECK_EQ(name, "constant");
  return PadMode::kConstant;
}

int64_t PlaceWithin(int64_t place, int64_t size, PadMode mode) {
  if (place >= 0 && place < size) return place;
  if (mode == PadMode::kConstant) return -1;
  CHECK_GT(size, 0);
  if (mode == PadMode::kEdge || size == 1) return place < 0 ? 0 : size - 1;
  const bool twice = mode == PadMode::kSymmetric;
  const int64_t period = twice ? 2 * size : 2 * (size - 1);
  const int64_t within = Remainder(place, period);
  if (within < size) return within;
  return twice ? period - 1 - within : period - within;
}

void CutPadded(const PixelView& image, const Box& box, PadMode mode,
               const std::vector<uint8_t>& fill, uint8_t* out) {
  CHECK(CheckPadded(image, mode).ok());
  CHECK_EQ(static_cast<int64_t>(fill.size()), image.channels);
  const auto pixel = static_cast<size_t>(image.channels);
  const Inside inside = Inside::Of(box, image.size.width);
  for (int64_t y = 0; y < box.height; ++y) {
    const int64_t row = PlaceWithin(box.top + y, image.size.height, mode);
    const auto write = [&](int64_t x) {
      const int64_t column = PlaceWithin(box.left + x, image.size.width, mode);
      const bool there = row >= 0 && column >= 0;
      std::memcpy(out + x * image.channels,
                  there ? image.Row(row) + column * image.channels : fill.data(),
                  pixel);
    };
    const Inside part = row >= 0 ? inside : Inside{};
    for (int64_t x = 0; x < part.begin; ++x) write(x);
    if (part.end > part.begin) {
      std::memcpy(out + part.begin * image.channels,
                  image.Row(row) + (box.left + part.begin) * image.channels,
                  static_cast<size_t>(part.end - part.begin) * pixel);
    }
    for (int64_t x = part.end; x < box.width; ++x) write(x);
    out += box.width * image.channels;
  }
}

absl::Status CheckPadded(const PixelView& image, PadMode mode) {
  if (mode == PadMode::kConstant || image.size.pixels() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "an image without pixels has no edge to be padded with; use mode constant");
}

}  // namespace millrace::kernels
