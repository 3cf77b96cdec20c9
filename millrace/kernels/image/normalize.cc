#include "millrace/kernels/image/normalize.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "millrace/base/check.h"

// Vectors without a fixed size are left to NEON, as in the other loops of this folder.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "millrace/kernels/image/normalize.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();

namespace millrace::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Bytes = hn::Rebind<uint8_t, Floats>;

// Not MulAdd: it rounds once where the processor can, twice where it cannot.
HWY_INLINE hn::Vec<Floats> Line(hn::Vec<Bytes> bytes, hn::Vec<Floats> factor,
                                hn::Vec<Floats> offset) {
  const hn::Rebind<int32_t, Floats> whole;
  const auto x = hn::ConvertTo(Floats(), hn::PromoteTo(whole, bytes));
  return hn::Add(hn::Mul(x, factor), offset);
}

// `factors` and `offsets` repeat the channels up to a whole number of vectors, `period`
// values. Gives how many values it wrote: whole periods.
int64_t Lines(const uint8_t* bytes, int64_t count, absl::Span<const float> factors,
              absl::Span<const float> offsets, float* out) {
  const Floats floats;
  const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
  const auto period = static_cast<int64_t>(factors.size());
  int64_t done = 0;
  for (; done + period <= count; done += period) {
    for (int64_t i = 0; i < period; i += lanes) {
      const auto x = hn::LoadU(Bytes(), bytes + done + i);
      const auto y = Line(x, hn::LoadU(floats, factors.data() + i),
                          hn::LoadU(floats, offsets.data() + i));
      hn::StoreU(y, floats, out + done + i);
    }
  }
  return done;
}

// Most of three channels, to planes; gives how many pixels.
int64_t LinesToThree(const uint8_t* bytes, int64_t pixels, const float* factors,
                     const float* offsets, float* out) {
  const Floats floats;
  const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
  const auto factor0 = hn::Set(floats, factors[0]);
  const auto factor1 = hn::Set(floats, factors[1]);
  const auto factor2 = hn::Set(floats, factors[2]);
  const auto offset0 = hn::Set(floats, offsets[0]);
  const auto offset1 = hn::Set(floats, offsets[1]);
  const auto offset2 = hn::Set(floats, offsets[2]);
  int64_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    hn::Vec<Bytes> red;
    hn::Vec<Bytes> green;
    hn::Vec<Bytes> blue;
    hn::LoadInterleaved3(Bytes(), bytes + 3 * i, red, green, blue);
    hn::StoreU(Line(red, factor0, offset0), floats, out + i);
    hn::StoreU(Line(green, factor1, offset1), floats, out + pixels + i);
    hn::StoreU(Line(blue, factor2, offset2), floats, out + 2 * pixels + i);
  }
  return i;
}

}  // namespace millrace::kernels::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace millrace::kernels {

HWY_EXPORT(Lines);
HWY_EXPORT(LinesToThree);

ChannelLines ChannelLines::Of(absl::Span<const double> means,
                              absl::Span<const double> deviations, double scale) {
  CHECK_EQ(means.size(), deviations.size());
  ChannelLines lines;
  for (size_t i = 0; i < means.size(); ++i) {
    CHECK_NE(deviations[i], 0.0);
    lines.factors.push_back(static_cast<float>(scale / deviations[i]));
    lines.offsets.push_back(static_cast<float>(-means[i] / deviations[i]));
  }
  return lines;
}

void Normalize(const uint8_t* bytes, int64_t pixels, const ChannelLines& lines,
               float* out) {
  constexpr int64_t kLanesMost = 16;
  const int64_t channels = lines.channels();
  std::vector<float> factors;
  std::vector<float> offsets;
  for (int64_t i = 0; i < kLanesMost * channels; ++i) {
    factors.push_back(lines.factors[i % channels]);
    offsets.push_back(lines.offsets[i % channels]);
  }
  const int64_t count = pixels * channels;
  int64_t i = HWY_DYNAMIC_DISPATCH(Lines)(bytes, count, factors, offsets, out);
  for (; i < count; ++i) {
    const int64_t c = i % channels;
    out[i] = static_cast<float>(bytes[i]) * lines.factors[c] + lines.offsets[c];
  }
}

void NormalizeToPlanes(const uint8_t* bytes, int64_t pixels, const ChannelLines& lines,
                       float* out) {
  const int64_t channels = lines.channels();
  int64_t i = 0;
  if (channels == 3) {
    i = HWY_DYNAMIC_DISPATCH(LinesToThree)(bytes, pixels, lines.factors.data(),
                                           lines.offsets.data(), out);
  }
  for (; i < pixels; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto x = static_cast<float>(bytes[i * channels + c]);
      out[c * pixels + i] = x * lines.factors[c] + lines.offsets[c];
    }
  }
}

}  // namespace millrace::kernels

#endif  // HWY_ONCE
