#include "millrace/kernels/image/resize.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/resize_loops.h"
#include "millrace/kernels/image/resize_weights.h"

namespace millrace::kernels {
namespace {

constexpr int64_t kBlockBytes = 16;  // What a loop with SIMD reads at once.

// --- Nearest ---

// The number of channels as a type: where it is known, a pixel is moved at once.
template <typename Channels>
void CopyNearest(const PixelView& image, const ImageSize& size, Channels channels,
                 uint8_t* out) {
  const std::vector<int64_t> rows = NearestPlaces(image.size.height, size.height);
  const std::vector<int64_t> columns = NearestPlaces(image.size.width, size.width);
  for (const int64_t row : rows) {
    const uint8_t* source = image.Row(row);
    for (const int64_t column : columns) {
      std::memcpy(out, source + column * channels, channels);
      out += channels;
    }
  }
}

void ResizeNearest(const PixelView& image, const ImageSize& size, uint8_t* out) {
  if (image.channels == kColours) {
    CopyNearest(image, size, std::integral_constant<size_t, kColours>(), out);
  } else {
    CopyNearest(image, size, static_cast<size_t>(image.channels), out);
  }
}

// --- Bilinear without antialias ---

// Source rows, already as wide as the result: the last two that were asked for.
class BlendedRows {
 public:
  BlendedRows(const PixelView& image, int64_t width)
      : image_(image),
        places_(BilinearPlaces(image.size.width, width)),
        quick_(image.channels == kColours &&
               image.size.width * kColours >= kBlockBytes) {
    int64_t values = width * image.channels;
    if (quick_) {
      blocks_ = LayOutBlocks(places_, image.size.width);
      values = blocks_.values();
    }
    for (Slot& slot : slots_) slot.values.resize(values + kRowSlack);
  }

  const int16_t* At(int64_t row) {
    Slot& slot = slots_[row % 2];  // Neighbours do not push each other out.
    if (slot.row != row) {
      slot.row = row;
      const uint8_t* source = image_.Row(row);
      if (quick_) {
        BlendColumns(source, blocks_, slot.values.data());
      } else {
        BlendColumnsPlainly(source, places_, image_.channels, slot.values.data());
      }
    }
    return slot.values.data();
  }

 private:
  struct Slot {
    int64_t row = -1;
    std::vector<int16_t> values = {};
  };

  const PixelView image_;
  const std::vector<Between> places_;
  const bool quick_;
  ColumnBlocks blocks_;
  Slot slots_[2];
};

void ResizeBilinear(const PixelView& image, const ImageSize& size, uint8_t* out) {
  const int64_t count = size.width * image.channels;
  BlendedRows rows(image, size.width);
  for (const Between& place : BilinearPlaces(image.size.height, size.height)) {
    const int16_t* first = rows.At(place.first);
    const int16_t* second = place.weight == 0 ? first : rows.At(place.first + 1);
    BlendRows(first, second, place.weight, count, out);
    out += count;
  }
}

// --- Weighted sums ---

// Source rows, already as wide as the result: as many as a row of the result needs.
class ConvolvedRows {
 public:
  ConvolvedRows(const PixelView& image, const AxisWeights& columns, int64_t kept)
      : image_(image),
        columns_(columns),
        sums_(LayOutSums(columns)),
        kept_(kept),
        stride_(columns.size * image.channels + kRowSlack),
        rows_(static_cast<size_t>(kept * stride_)),
        padded_(static_cast<size_t>(image.size.width * image.channels + kBlockBytes)) {}

  // Says that no row before this one will be asked for.
  void StartAt(int64_t row) { next_ = std::max(next_, row); }

  // Requires: no more than `kept` rows after the last StartAt.
  const uint8_t* At(int64_t row) {
    for (; next_ <= row; ++next_) Make(next_, Place(next_));
    return Place(row);
  }

 private:
  uint8_t* Place(int64_t row) { return rows_.data() + row % kept_ * stride_; }

  void Make(int64_t row, uint8_t* out) {
    if (image_.channels != kColours || image_.size.width < columns_.taps) {
      ConvolveColumnsPlainly(image_.Row(row), columns_, image_.channels, out);
      return;
    }
    // Loops may read on behind a row: there is another one, but not behind the last.
    const int64_t behind = (image_.size.height - 1 - row) * image_.stride;
    const bool safe = behind >= kBlockBytes;
    ConvolveColumns(safe ? image_.Row(row) : Padded(row), sums_, out);
  }

  const uint8_t* Padded(int64_t row) {
    std::memcpy(padded_.data(), image_.Row(row), padded_.size() - kBlockBytes);
    return padded_.data();
  }

  const PixelView image_;
  const AxisWeights& columns_;
  const ColumnSums sums_;
  const int64_t kept_;
  const int64_t stride_;
  std::vector<uint8_t> rows_;
  std::vector<uint8_t> padded_;  // A copy of the last row.
  int64_t next_ = 0;
};

void ResizeByWeights(const PixelView& image, const ResizeOptions& options,
                     uint8_t* out) {
  const AxisWeights down = FilterWeights(image.size.height, options.size.height,
                                         options.method, options.antialias);
  const AxisWeights across = FilterWeights(image.size.width, options.size.width,
                                           options.method, options.antialias);
  ConvolvedRows rows(image, across, down.taps);
  const int64_t count = options.size.width * image.channels;
  std::vector<const uint8_t*> some;
  for (int64_t row = 0; row < down.size; ++row, out += count) {
    some.clear();
    rows.StartAt(down.first[row]);
    for (int64_t tap = 0; tap < down.count[row]; ++tap) {
      some.push_back(rows.At(down.first[row] + tap));
    }
    if (some.size() % 2 != 0) some.push_back(some.back());  // With weight 0.
    ConvolveRows(some, down.Of(row), down.bits, count, out);
  }
}

}  // namespace

void Resize(const PixelView& image, const ResizeOptions& options, uint8_t* out) {
  CHECK_GT(image.size.pixels(), 0);
  CHECK_GT(options.size.pixels(), 0);
  const bool smaller =
      options.size.height < image.size.height || options.size.width < image.size.width;
  if (options.method == ResizeMethod::kNearest) {
    ResizeNearest(image, options.size, out);
  } else if (options.method == ResizeMethod::kBilinear &&
             !(options.antialias && smaller)) {
    ResizeBilinear(image, options.size, out);
  } else {
    ResizeByWeights(image, options, out);
  }
}

}  // namespace millrace::kernels
