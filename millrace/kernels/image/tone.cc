#include "millrace/kernels/image/tone.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/colour.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

// All values of an image. A copy: what is read through a reference could, for all the
// compiler knows, be changed by writing bytes, and then it uses no vectors.
struct Bytes {
  explicit Bytes(const Colours<uint8_t>& image)
      : first(image.first), count(image.count()) {}

  const uint8_t* first;
  int64_t count;
};

using Counts = std::array<int64_t, 256>;  // How often each value comes.
using Table = std::array<uint8_t, 256>;   // What becomes of each value.

Table Unchanged() {
  Table table = {};
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(i);
  return table;
}

Table StretchedTable(const Counts& counts) {
  int64_t least = 0;
  int64_t most = 255;
  while (least < most && counts[least] == 0) ++least;
  while (least < most && counts[most] == 0) --most;
  if (least == most) return Unchanged();
  Table table = {};
  const int64_t range = most - least;
  for (int64_t i = least; i <= most; ++i) {
    table[i] = static_cast<uint8_t>(((i - least) * 255 * 2 + range) / (2 * range));
  }
  return table;
}

Table EqualizedTable(const Counts& counts) {
  int64_t pixels = 0;
  int64_t last = 0;  // Of the largest value.
  for (const int64_t count : counts) {
    pixels += count;
    if (count > 0) last = count;
  }
  const int64_t step = (pixels - last) / 255;
  if (step == 0) return Unchanged();
  Table table = {};
  int64_t below = step / 2;
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<uint8_t>(std::min<int64_t>(below / step, 255));
    below += counts[i];
  }
  return table;
}

// Makes a table of each channel's counts and looks all values up in it.
void MapChannels(const Colours<uint8_t>& image,
                 absl::FunctionRef<Table(const Counts&)> make, uint8_t* out) {
  const Bytes bytes(image);
  const int64_t channels = image.channels;
  for (int64_t c = 0; c < channels; ++c) {
    Counts counts = {};
    for (int64_t i = c; i < bytes.count; i += channels) ++counts[bytes.first[i]];
    const Table table = make(counts);
    for (int64_t i = c; i < bytes.count; i += channels) out[i] = table[bytes.first[i]];
  }
}

// One row of AdjustSharpness but for its first and last pixel: `rows` are the row
// above, the row itself and the one below.
void SharpenRow(const std::array<const uint8_t*, 3>& rows, int64_t count,
                int64_t channels, int factor, uint8_t* out) {
  constexpr int kOne = 4096;
  constexpr int kWeights = 13;  // Eight neighbours once, the pixel five times.
  constexpr float kScale = 1.0F / (kOne * kWeights);
  const uint8_t* above = rows[0];
  const uint8_t* row = rows[1];
  const uint8_t* below = rows[2];
  for (int64_t i = channels; i < count - channels; ++i) {
    const int64_t left = i - channels;
    const int64_t right = i + channels;
    const int sum = above[left] + above[i] + above[right] + row[left] + 5 * row[i] +
                    row[right] + below[left] + below[i] + below[right];
    const int value = kWeights * row[i] * factor + (kOne - factor) * sum;
    const float level = static_cast<float>(value) * kScale + 0.5F;
    out[i] = static_cast<uint8_t>(std::clamp(level, 0.0F, 255.0F));
  }
}

}  // namespace

void Invert(const Colours<uint8_t>& image, uint8_t* out) {
  const Bytes bytes(image);
  for (int64_t i = 0; i < bytes.count; ++i) {
    out[i] = static_cast<uint8_t>(255 - bytes.first[i]);
  }
}

void Posterize(const Colours<uint8_t>& image, int bits, uint8_t* out) {
  CHECK(bits >= 0 && bits <= 8) << bits;
  const Bytes bytes(image);
  const auto mask = static_cast<uint8_t>(0xFF << (8 - bits));
  for (int64_t i = 0; i < bytes.count; ++i) {
    out[i] = static_cast<uint8_t>(bytes.first[i] & mask);
  }
}

void Solarize(const Colours<uint8_t>& image, double threshold, uint8_t* out) {
  const Bytes bytes(image);
  const double from = std::ceil(std::clamp(threshold, 0.0, 256.0));
  if (from > 255) {
    if (bytes.first != out) std::copy_n(bytes.first, bytes.count, out);
    return;
  }
  const auto least = static_cast<uint8_t>(from);
  for (int64_t i = 0; i < bytes.count; ++i) {
    const uint8_t x = bytes.first[i];
    out[i] = x >= least ? static_cast<uint8_t>(255 - x) : x;
  }
}

void AutoContrast(const Colours<uint8_t>& image, uint8_t* out) {
  MapChannels(image, StretchedTable, out);
}

void Equalize(const Colours<uint8_t>& image, uint8_t* out) {
  MapChannels(image, EqualizedTable, out);
}

void AdjustSharpness(const PixelView& image, double factor, uint8_t* out) {
  CHECK(CheckFactor(factor).ok()) << factor;
  CopyPixels(image, out);
  const int64_t count = image.size.width * image.channels;
  const int fixed = static_cast<int>(std::floor(factor * 4096 + 0.5));
  for (int64_t row = 1; row < image.size.height - 1; ++row) {
    SharpenRow({image.Row(row - 1), image.Row(row), image.Row(row + 1)}, count,
               image.channels, fixed, out + row * count);
  }
}

absl::Status CheckBits(double bits) {
  if (bits >= 0 && bits <= 8 && bits == std::floor(bits)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("bits must be a whole number from 0 to 8, not ", bits));
}

absl::Status CheckThreshold(double threshold) {
  if (!std::isnan(threshold)) return absl::OkStatus();
  return absl::InvalidArgumentError("a threshold must be a number, not NaN");
}

}  // namespace millrace::kernels
