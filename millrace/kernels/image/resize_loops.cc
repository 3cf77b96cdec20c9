#include "millrace/kernels/image/resize_loops.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/resize_weights.h"

// Vectors without a fixed size are left to NEON: the loops go by blocks of 128 bits.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "millrace/kernels/image/resize_loops.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#ifndef MILLRACE_RESIZE_PLAINLY
#define MILLRACE_RESIZE_PLAINLY

// --- Once, without SIMD ---

namespace millrace::kernels::plainly {

constexpr int kFraction = 7;

// (a b + 2^14) / 2^15, rounded down: what processors call a fixed-point product.
inline int Product15(int a, int b) { return (a * b + (1 << 14)) >> 15; }

inline int16_t Blend(int first, int second, int weight) {
  return static_cast<int16_t>((first << kFraction) +
                              Product15((second - first) * (1 << kFraction), weight));
}

inline uint8_t BlendToByte(int first, int second, int weight) {
  const int blended = first + Product15(second - first, weight);
  return static_cast<uint8_t>((blended + (1 << (kFraction - 1))) >> kFraction);
}

inline uint8_t ToByte(int sum, int bits) {
  return static_cast<uint8_t>(std::clamp((sum + (1 << (bits - 1))) >> bits, 0, 255));
}

inline void BlendRowsFrom(int64_t begin, const int16_t* first, const int16_t* second,
                          int16_t weight, absl::Span<uint8_t> out) {
  for (size_t i = static_cast<size_t>(begin); i < out.size(); ++i) {
    out[i] = BlendToByte(first[i], second[i], weight);
  }
}

inline void ConvolveRowsFrom(int64_t begin, absl::Span<const uint8_t* const> rows,
                             const int16_t* weights, int bits,
                             absl::Span<uint8_t> out) {
  for (size_t i = static_cast<size_t>(begin); i < out.size(); ++i) {
    int sum = 0;
    for (size_t row = 0; row < rows.size(); ++row) sum += weights[row] * rows[row][i];
    out[i] = ToByte(sum, bits);
  }
}

}  // namespace millrace::kernels::plainly

#endif  // MILLRACE_RESIZE_PLAINLY

// --- Once for each kind of processor ---

HWY_BEFORE_NAMESPACE();

namespace millrace::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void BlendColumns(const uint8_t* row, const ColumnBlocks& blocks, int16_t* out) {
  const int64_t per_block = blocks.values_per_block;
  for (size_t block = 0; block < blocks.offsets.size(); ++block) {
    const uint8_t* source = row + blocks.offsets[block];
    for (int64_t i = 0; i < per_block; ++i) {
      const uint8_t first = blocks.first[block * 16 + 2 * i];
      const uint8_t second = blocks.second[block * 16 + 2 * i];
      if (first >= 16) continue;
      *out++ =
          plainly::Blend(source[first], source[second], blocks.weights[block * 8 + i]);
    }
  }
}

void BlendRows(const int16_t* first, const int16_t* second, int16_t weight,
               int64_t count, uint8_t* out) {
  plainly::BlendRowsFrom(0, first, second, weight, absl::MakeSpan(out, count));
}

void ConvolveColumns(const uint8_t* row, const ColumnSums& columns, uint8_t* out) {
  for (int64_t pixel = 0; pixel < columns.size; ++pixel) {
    const uint8_t* source = row + columns.offsets[pixel];
    for (int64_t c = 0; c < kColours; ++c) {
      int sum = 0;
      for (int64_t tap = 0; tap < 4 * columns.groups; ++tap) {
        const int16_t* pair = columns.Of(tap / 4, tap % 4 / 2, pixel);
        sum += pair[tap % 2] * source[tap * kColours + c];
      }
      *out++ = plainly::ToByte(sum, columns.bits);
    }
  }
}

void ConvolveRows(absl::Span<const uint8_t* const> rows, const int16_t* weights,
                  int bits, int64_t count, uint8_t* out) {
  plainly::ConvolveRowsFrom(0, rows, weights, bits, absl::MakeSpan(out, count));
}

#else

using D16 = hn::FixedTag<uint8_t, 16>;  // One block of bytes.
using D8 = hn::FixedTag<int16_t, 8>;
using DWide = hn::ScalableTag<int16_t>;
constexpr size_t kBlocksAtOnce = HWY_CAP_GE256 ? 2 : 1;
using DBytes = hn::FixedTag<uint8_t, 16 * kBlocksAtOnce>;
using DShorts = hn::FixedTag<int16_t, 8 * kBlocksAtOnce>;

HWY_INLINE hn::Vec<DBytes> LoadBlocks(const uint8_t* row, const int64_t* offsets) {
  const D16 block;
#if HWY_CAP_GE256
  return hn::Combine(DBytes(), hn::LoadU(block, row + offsets[1]),
                     hn::LoadU(block, row + offsets[0]));
#else
  return hn::LoadU(block, row + offsets[0]);
#endif
}

// Blocks of fewer than 8 values overlap: each is written over the slack of the one
// before.
HWY_INLINE void StoreBlocks(hn::Vec<DShorts> values, int64_t per_block, int16_t* out) {
#if HWY_CAP_GE256
  hn::StoreU(hn::LowerHalf(D8(), values), D8(), out);
  hn::StoreU(hn::UpperHalf(D8(), values), D8(), out + per_block);
#else
  (void)per_block;
  hn::StoreU(values, DShorts(), out);
#endif
}

void BlendColumns(const uint8_t* row, const ColumnBlocks& blocks, int16_t* out) {
  const DBytes bytes;
  const DShorts shorts;
  const int64_t per_block = blocks.values_per_block;
  CHECK_EQ(blocks.offsets.size() % kBlocksAtOnce, 0U);
  for (size_t block = 0; block < blocks.offsets.size(); block += kBlocksAtOnce) {
    const auto source = LoadBlocks(row, blocks.offsets.data() + block);
    const auto first = hn::BitCast(
        shorts, hn::TableLookupBytesOr0(
                    source, hn::LoadU(bytes, blocks.first.data() + block * 16)));
    const auto second = hn::BitCast(
        shorts, hn::TableLookupBytesOr0(
                    source, hn::LoadU(bytes, blocks.second.data() + block * 16)));
    const auto weight = hn::LoadU(shorts, blocks.weights.data() + block * 8);
    const auto step = hn::ShiftLeft<plainly::kFraction>(hn::Sub(second, first));
    const auto blended = hn::Add(hn::ShiftLeft<plainly::kFraction>(first),
                                 hn::MulFixedPoint15(step, weight));
    StoreBlocks(blended, per_block, out);
    out += per_block * static_cast<int64_t>(kBlocksAtOnce);
  }
}

void BlendRows(const int16_t* first, const int16_t* second, int16_t weight,
               int64_t count, uint8_t* out) {
  const DWide shorts;
  const hn::Rebind<uint8_t, DWide> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(shorts));
  const auto weights = hn::Set(shorts, weight);
  const auto half = hn::Set(shorts, 1 << (plainly::kFraction - 1));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto a = hn::LoadU(shorts, first + i);
    const auto b = hn::LoadU(shorts, second + i);
    const auto blended = hn::Add(a, hn::MulFixedPoint15(hn::Sub(b, a), weights));
    // The sum is below 2^15: at most 255.5 times 2^7.
    const auto rounded = hn::ShiftRight<plainly::kFraction>(hn::Add(blended, half));
    hn::StoreU(hn::DemoteTo(bytes, rounded), bytes, out + i);
  }
  plainly::BlendRowsFrom(i, first, second, weight, absl::MakeSpan(out, count));
}

// A pixel of the result in each block: three sums of 32 bits, and one for nothing.
constexpr size_t kSumsAtOnce = HWY_CAP_GE512 ? 4 : kBlocksAtOnce;
using DSums = hn::FixedTag<int32_t, 4 * kSumsAtOnce>;
using DSources = hn::Repartition<uint8_t, DSums>;
using DPairs = hn::Repartition<int16_t, DSums>;

// Four pixels of three channels, two and two, as pairs of 16 bits.
alignas(16) constexpr uint8_t kFirstTwo[16] = {0, 128, 3, 128, 1,   128, 4,   128,
                                               2, 128, 5, 128, 128, 128, 128, 128};
alignas(16) constexpr uint8_t kOtherTwo[16] = {6, 128, 9,  128, 7,   128, 10,  128,
                                               8, 128, 11, 128, 128, 128, 128, 128};

// Three of four bytes.
alignas(16) constexpr uint8_t kWithoutFourth[16] = {0,  1,  2,  4,  5,   6,   8,   9,
                                                    10, 12, 13, 14, 128, 128, 128, 128};

HWY_INLINE hn::Vec<DSources> LoadSources(const uint8_t* row, const int64_t* offsets) {
#if HWY_CAP_GE512
  return hn::Combine(DSources(), LoadBlocks(row, offsets + 2),
                     LoadBlocks(row, offsets));
#else
  return LoadBlocks(row, offsets);
#endif
}

void ConvolveColumns(const uint8_t* row, const ColumnSums& columns, uint8_t* out) {
  const DSources bytes;
  const DPairs pairs;
  const DSums sums;
  const hn::Rebind<uint8_t, DSums> results;
  const auto first_two = hn::LoadDup128(bytes, kFirstTwo);
  const auto other_two = hn::LoadDup128(bytes, kOtherTwo);
  const auto without_fourth = hn::Load(D16(), kWithoutFourth);
  const auto half = hn::Set(sums, 1 << (columns.bits - 1));
  constexpr auto kAtOnce = static_cast<int64_t>(kSumsAtOnce);
  for (int64_t pixel = 0; pixel < columns.padded; pixel += kAtOnce) {
    auto sum0 = half;
    auto sum1 = hn::Zero(sums);
    for (int64_t group = 0; group < columns.groups; ++group) {
      const auto pixels = LoadSources(row + 12 * group, columns.offsets.data() + pixel);
      const auto a = hn::BitCast(pairs, hn::TableLookupBytesOr0(pixels, first_two));
      const auto b = hn::BitCast(pairs, hn::TableLookupBytesOr0(pixels, other_two));
      sum0 = hn::ReorderWidenMulAccumulate(
          sums, a, hn::LoadU(pairs, columns.Of(group, 0, pixel)), sum0, sum1);
      sum0 = hn::ReorderWidenMulAccumulate(
          sums, b, hn::LoadU(pairs, columns.Of(group, 1, pixel)), sum0, sum1);
    }
    const auto sum =
        hn::ShiftRightSame(hn::RearrangeToOddPlusEven(sum0, sum1), columns.bits);
    const auto result = hn::DemoteTo(results, sum);
    hn::StoreU(hn::TableLookupBytesOr0(result, without_fourth), D16(), out);
    out += kColours * kAtOnce;
  }
}

void ConvolveRows(absl::Span<const uint8_t* const> rows, const int16_t* weights,
                  int bits, int64_t count, uint8_t* out) {
  const DWide shorts;
  const hn::Rebind<uint8_t, DWide> bytes;
  const hn::RepartitionToWide<DWide> sums;
  const auto lanes = static_cast<int64_t>(hn::Lanes(shorts));
  const auto half = hn::Set(sums, 1 << (bits - 1));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto low0 = half;
    auto high0 = half;
    auto low1 = hn::Zero(sums);
    auto high1 = hn::Zero(sums);
    for (size_t row = 0; row < rows.size(); row += 2) {
      int32_t pair = 0;
      std::memcpy(&pair, weights + row, sizeof(pair));
      const auto weight = hn::BitCast(shorts, hn::Set(sums, pair));
      const auto a = hn::PromoteTo(shorts, hn::LoadU(bytes, rows[row] + i));
      const auto b = hn::PromoteTo(shorts, hn::LoadU(bytes, rows[row + 1] + i));
      low0 = hn::ReorderWidenMulAccumulate(sums, hn::InterleaveLower(shorts, a, b),
                                           weight, low0, low1);
      high0 = hn::ReorderWidenMulAccumulate(sums, hn::InterleaveUpper(shorts, a, b),
                                            weight, high0, high1);
    }
    // Both reorderings go by blocks of 128 bits, so that the second undoes the first.
    const auto packed = hn::ReorderDemote2To(
        shorts, hn::ShiftRightSame(hn::RearrangeToOddPlusEven(low0, low1), bits),
        hn::ShiftRightSame(hn::RearrangeToOddPlusEven(high0, high1), bits));
    hn::StoreU(hn::DemoteTo(bytes, packed), bytes, out + i);
  }
  plainly::ConvolveRowsFrom(i, rows, weights, bits, absl::MakeSpan(out, count));
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace millrace::kernels::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace millrace::kernels {

HWY_EXPORT(BlendColumns);
HWY_EXPORT(BlendRows);
HWY_EXPORT(ConvolveColumns);
HWY_EXPORT(ConvolveRows);

namespace {

constexpr int64_t kBlockBytes = 16;
constexpr uint8_t kNothing = 0x80;

// Adds the block of the values from `begin` on. Tells whether its sources fit.
bool AddBlock(absl::Span<const Between> places, int64_t source_width, int64_t begin,
              ColumnBlocks& blocks) {
  const auto values = static_cast<int64_t>(places.size()) * kColours;
  const int64_t count = std::min(blocks.values_per_block, values - begin);
  const auto source = [&](int64_t value) {
    return places[value / kColours].first * kColours + value % kColours;
  };
  int64_t offset = source_width * kColours - kBlockBytes;
  for (int64_t i = 0; i < count; ++i) offset = std::min(offset, source(begin + i));
  uint8_t first[16];
  uint8_t second[16];
  int16_t weights[8] = {};
  std::fill_n(first, 16, kNothing);
  std::fill_n(second, 16, kNothing);
  for (int64_t i = 0; i < count; ++i) {
    const Between& place = places[(begin + i) / kColours];
    const int64_t left = source(begin + i) - offset;
    const int64_t right = place.first + 1 < source_width ? left + kColours : left;
    if (right >= kBlockBytes) return false;
    first[2 * i] = static_cast<uint8_t>(left);
    second[2 * i] = static_cast<uint8_t>(right);
    weights[i] = place.weight;
  }
  blocks.offsets.push_back(offset);
  blocks.first.insert(blocks.first.end(), first, first + 16);
  blocks.second.insert(blocks.second.end(), second, second + 16);
  blocks.weights.insert(blocks.weights.end(), weights, weights + 8);
  return true;
}

// Tells whether all blocks of so many values fit.
bool LayOut(absl::Span<const Between> places, int64_t source_width,
            ColumnBlocks& blocks) {
  const auto values = static_cast<int64_t>(places.size()) * kColours;
  for (int64_t begin = 0; begin < values; begin += blocks.values_per_block) {
    if (!AddBlock(places, source_width, begin, blocks)) return false;
  }
  if (blocks.offsets.size() % 2 != 0) {  // Some processors take two at once.
    blocks.offsets.push_back(0);
    blocks.first.resize(blocks.first.size() + 16, kNothing);
    blocks.second.resize(blocks.second.size() + 16, kNothing);
    blocks.weights.resize(blocks.weights.size() + 8);
  }
  return true;
}

}  // namespace

ColumnBlocks LayOutBlocks(absl::Span<const Between> places, int64_t source_width) {
  CHECK_GE(source_width * kColours, kBlockBytes);
  for (const int64_t per_block : {8, 6, 3}) {
    ColumnBlocks blocks = {.values_per_block = per_block};
    if (LayOut(places, source_width, blocks)) return blocks;
  }
  CHECK(false) << "two neighbouring pixels are not within 16 bytes";
  return {};
}

void BlendColumns(const uint8_t* row, const ColumnBlocks& blocks, int16_t* out) {
  HWY_DYNAMIC_DISPATCH(BlendColumns)(row, blocks, out);
}

void BlendRows(const int16_t* first, const int16_t* second, int16_t weight,
               int64_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(BlendRows)(first, second, weight, count, out);
}

ColumnSums LayOutSums(const AxisWeights& weights) {
  ColumnSums columns = {.bits = weights.bits,
                        .size = weights.size,
                        .padded = (weights.size + 3) / 4 * 4,
                        .groups = weights.taps / 4};
  for (const int64_t first : weights.first) columns.offsets.push_back(first * kColours);
  columns.offsets.resize(columns.padded);  // With weights of 0 for the first sources.
  columns.weights.resize(weights.taps / 2 * columns.padded * 8);
  for (int64_t tap = 0; tap < weights.taps; tap += 2) {
    int16_t* out = columns.weights.data() + tap / 2 * columns.padded * 8;
    for (int64_t pixel = 0; pixel < weights.size; ++pixel, out += 8) {
      const int16_t* pair = weights.Of(pixel) + tap;
      for (int64_t i = 0; i < 4; ++i) std::memcpy(out + 2 * i, pair, 2 * sizeof(*pair));
    }
  }
  return columns;
}

void ConvolveColumns(const uint8_t* row, const ColumnSums& columns, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(ConvolveColumns)(row, columns, out);
}

void ConvolveRows(absl::Span<const uint8_t* const> rows, const int16_t* weights,
                  int bits, int64_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(ConvolveRows)(rows, weights, bits, count, out);
}

void BlendColumnsPlainly(const uint8_t* row, absl::Span<const Between> places,
                         int64_t channels, int16_t* out) {
  for (const Between& place : places) {
    const uint8_t* first = row + place.first * channels;
    const uint8_t* second = place.weight == 0 ? first : first + channels;
    for (int64_t c = 0; c < channels; ++c) {
      *out++ = plainly::Blend(first[c], second[c], place.weight);
    }
  }
}

void ConvolveColumnsPlainly(const uint8_t* row, const AxisWeights& weights,
                            int64_t channels, uint8_t* out) {
  for (int64_t pixel = 0; pixel < weights.size; ++pixel) {
    const uint8_t* source = row + weights.first[pixel] * channels;
    const int16_t* taps = weights.Of(pixel);
    for (int64_t c = 0; c < channels; ++c) {
      int sum = 0;
      for (int64_t tap = 0; tap < weights.count[pixel]; ++tap) {
        sum += taps[tap] * source[tap * channels + c];
      }
      *out++ = plainly::ToByte(sum, weights.bits);
    }
  }
}

}  // namespace millrace::kernels

#endif  // HWY_ONCE
