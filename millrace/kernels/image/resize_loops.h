// The inner loops of resizing, for the processor they run on (Highway chooses at run
// time). Integers only: every processor gives the same bits, and the loops without SIMD
// are right for any number of channels. Called by resize.cc alone.
//
// Without antialias a value lies between two neighbours of its row, then between two
// rows, in 16 bits of which 7 are the fraction. With it, or bicubic, a value is a
// weighted sum over a row, rounded to a byte, then over rows, as Pillow computes it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "millrace/kernels/image/resize_weights.h"

namespace millrace::kernels {

// What a loop may write beyond the end of a row that is not yet the result.
inline constexpr int64_t kRowSlack = 32;

// How BlendColumns makes rows of one width from rows of another, for three channels:
// in blocks of up to eight neighbouring values whose sources lie within 16 bytes.
struct ColumnBlocks {
  int64_t values_per_block = 0;       // 8, 6 or 3: the most that always fit.
  std::vector<int64_t> offsets = {};  // By block: its 16 bytes in the source row.
  std::vector<uint8_t> first = {};    // 16 by block: which byte a value's left
  std::vector<uint8_t> second = {};   // neighbour is, and its right; 0x80 for none.
  std::vector<int16_t> weights = {};  // 8 by block: of the right neighbour.

  int64_t values() const {
    return values_per_block * static_cast<int64_t>(offsets.size());
  }
};

// Lays out the blocks of a row. Requires: a source row has at least 16 bytes.
ColumnBlocks LayOutBlocks(absl::Span<const Between> places, int64_t source_width);

// Makes one row, three channels. Requires: room for blocks.values() and kRowSlack.
void BlendColumns(const uint8_t* row, const ColumnBlocks& blocks, int16_t* out);

// The same without SIMD, for any number of channels.
void BlendColumnsPlainly(const uint8_t* row, absl::Span<const Between> places,
                         int64_t channels, int16_t* out);

// Makes one row of bytes from two that BlendColumns gave; writes exactly `count`.
void BlendRows(const int16_t* first, const int16_t* second, int16_t weight,
               int64_t count, uint8_t* out);

// How ConvolveColumns makes rows as weighted sums, for three channels: AxisWeights with
// the weights where vectors want them, for four source pixels at a time.
struct ColumnSums {
  int bits = 14;                      // As AxisWeights has them.
  int64_t size = 0;                   // Pixels of a row, and
  int64_t padded = 0;                 // rounded up to groups of four.
  int64_t groups = 0;                 // Of four weights each, for every pixel.
  std::vector<int64_t> offsets = {};  // By pixel: its first source's byte in a row.
  // By group, by half of it, by pixel: two weights, four times.
  std::vector<int16_t> weights = {};

  const int16_t* Of(int64_t group, int64_t half, int64_t pixel) const {
    return weights.data() + ((2 * group + half) * padded + pixel) * 8;
  }
};

ColumnSums LayOutSums(const AxisWeights& weights);

// Makes one row as weighted sums, three channels. Requires: a row has at least as many
// pixels as the axis has taps, 4 bytes more can be read, and kRowSlack more written.
void ConvolveColumns(const uint8_t* row, const ColumnSums& columns, uint8_t* out);

// The same without SIMD, for any number of channels, reading and writing no byte more.
void ConvolveColumnsPlainly(const uint8_t* row, const AxisWeights& weights,
                            int64_t channels, uint8_t* out);

// Adds up rows, each with its weight; reads and writes exactly `count` bytes of each.
// Requires: an even number of rows.
void ConvolveRows(absl::Span<const uint8_t* const> rows, const int16_t* weights,
                  int bits, int64_t count, uint8_t* out);

}  // namespace millrace::kernels
