#include "millrace/kernels/image/blur.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/portable_exp.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/image.h"

// Vectors without a fixed size are left to NEON, as in the other loops of this folder.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "millrace/kernels/image/blur.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#ifndef MILLRACE_BLUR_ONCE
#define MILLRACE_BLUR_ONCE

namespace millrace::kernels {

// A byte has 6 bits of fraction, so that two of them can be added in 16 bits.
inline constexpr int kBlurFraction = 6;

// What a loop may read and write beyond the end of a row of 16 bits.
inline constexpr int64_t kBlurSlack = 64;

}  // namespace millrace::kernels

#endif  // MILLRACE_BLUR_ONCE

HWY_BEFORE_NAMESPACE();

namespace millrace::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Shorts = hn::ScalableTag<int16_t>;
using Bytes = hn::Rebind<uint8_t, Shorts>;

// The sum around one place. `before` and `after` give both neighbours at a distance.
template <typename Before, typename After>
HWY_INLINE hn::Vec<Shorts> Weighted(absl::Span<const int16_t> weights,
                                    const Before& before, const After& after) {
  const Shorts shorts;
  const auto middle = before(0);
  auto sum = hn::MulFixedPoint15(hn::Add(middle, middle), hn::Set(shorts, weights[0]));
  for (size_t k = 1; k < weights.size(); ++k) {
    const auto both = hn::Add(before(k), after(k));
    sum = hn::Add(sum, hn::MulFixedPoint15(both, hn::Set(shorts, weights[k])));
  }
  return sum;
}

void BlurAlong(const int16_t* row, int64_t count, int64_t step,
               absl::Span<const int16_t> weights, int16_t* out) {
  const Shorts shorts;
  const auto lanes = static_cast<int64_t>(hn::Lanes(shorts));
  for (int64_t i = 0; i < count; i += lanes) {
    const int16_t* place = row + i;
    const auto before = [&](size_t k) HWY_ATTR {
      return hn::LoadU(shorts, place - static_cast<int64_t>(k) * step);
    };
    const auto after = [&](size_t k) HWY_ATTR {
      return hn::LoadU(shorts, place + static_cast<int64_t>(k) * step);
    };
    hn::StoreU(Weighted(weights, before, after), shorts, out + i);
  }
}

// `rows` holds the row itself, then those above and below at 1, 2, ... in turn.
void BlurAcross(absl::Span<const int16_t* const> rows,
                absl::Span<const int16_t> weights, int64_t count, uint8_t* out) {
  const Shorts shorts;
  const Bytes bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(shorts));
  const auto half = hn::Set(shorts, int16_t{1} << (kBlurFraction - 1));
  for (int64_t i = 0; i < count; i += lanes) {
    const auto above = [&](size_t k) HWY_ATTR {
      return hn::LoadU(shorts, rows[k == 0 ? 0 : 2 * k - 1] + i);
    };
    const auto below = [&](size_t k)
                           HWY_ATTR { return hn::LoadU(shorts, rows[2 * k] + i); };
    const auto sum = hn::Add(Weighted(weights, above, below), half);
    const auto result = hn::DemoteTo(bytes, hn::ShiftRight<kBlurFraction>(sum));
    if (i + lanes <= count) {
      hn::StoreU(result, bytes, out + i);
    } else {
      uint8_t rest[hn::MaxLanes(Bytes())];
      hn::StoreU(result, bytes, rest);
      std::copy_n(rest, count - i, out + i);
    }
  }
}

}  // namespace millrace::kernels::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace millrace::kernels {

HWY_EXPORT(BlurAlong);
HWY_EXPORT(BlurAcross);

int64_t Reflected(int64_t place, int64_t size) {
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  place = (place % period + period) % period;
  return place < size ? place : period - place;
}

namespace {

// Rows blurred along themselves, as 16 bits: as many as a row of the result needs.
class BlurredRows {
 public:
  BlurredRows(const PixelView& image, absl::Span<const int16_t> weights)
      : image_(image),
        weights_(weights),
        reach_(static_cast<int64_t>(weights.size()) - 1),
        kept_(std::min(image.size.height, 2 * reach_ + 1)),
        stride_(image.size.width * image.channels + kBlurSlack),
        rows_(static_cast<size_t>(kept_ * stride_)),
        padded_(static_cast<size_t>(stride_ + 2 * reach_ * image.channels)) {}

  // Requires: rows are asked for in an order in which none is further than 2 reach
  // behind the furthest so far.
  const int16_t* At(int64_t row) {
    for (; made_ <= row; ++made_) Make(made_);
    return Place(row);
  }

 private:
  int16_t* Place(int64_t row) { return rows_.data() + row % kept_ * stride_; }

  void Make(int64_t row) {
    const int64_t channels = image_.channels;
    const int64_t width = image_.size.width;
    const uint8_t* source = image_.Row(row);
    int16_t* middle = padded_.data() + reach_ * channels;
    const auto widened = [](uint8_t byte) {
      return static_cast<int16_t>(byte << kBlurFraction);
    };
    std::transform(source, source + width * channels, middle, widened);
    for (int64_t k = 1; k <= reach_; ++k) {
      std::copy_n(middle + Reflected(-k, width) * channels, channels,
                  middle - k * channels);
      std::copy_n(middle + Reflected(width - 1 + k, width) * channels, channels,
                  middle + (width - 1 + k) * channels);
    }
    HWY_DYNAMIC_DISPATCH(BlurAlong)
    (middle, width * channels, channels, weights_, Place(row));
  }

  const PixelView image_;
  const absl::Span<const int16_t> weights_;
  const int64_t reach_;
  const int64_t kept_;
  const int64_t stride_;
  std::vector<int16_t> rows_;
  std::vector<int16_t> padded_;
  int64_t made_ = 0;
};

}  // namespace

absl::Status CheckBlurSize(int64_t size) {
  if (size >= 1 && size <= kBlurSizeMax && size % 2 == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "a kernel size must be odd and from 1 to ", kBlurSizeMax, ", not ", size));
}

absl::Status CheckSigma(double sigma) {
  if (sigma > 0 && std::isfinite(sigma)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("sigma must be above 0 and finite, not ", sigma));
}

std::vector<double> BlurCurve(int64_t size, double sigma) {
  CHECK(CheckBlurSize(size).ok() && CheckSigma(sigma).ok()) << size << " " << sigma;
  constexpr double kNothing = -700;  // Less is not PortableExp's, and rounds to 0.
  std::vector<double> curve = {1};
  double sum = 1;
  for (int64_t k = 1; k <= size / 2; ++k) {
    const double along = static_cast<double>(k) / sigma;
    const double exponent = -0.5 * along * along;
    curve.push_back(exponent > kNothing ? base::PortableExp(exponent) : 0);
    sum += 2 * curve.back();
  }
  for (double& weight : curve) weight /= sum;
  return curve;
}

std::vector<int16_t> BlurWeights(int64_t size, double sigma) {
  constexpr double kOne = 32768;
  const std::vector<double> curve = BlurCurve(size, sigma);
  std::vector<int16_t> weights(curve.size());
  int rest = 16384;
  for (size_t k = 1; k < curve.size(); ++k) {
    weights[k] = static_cast<int16_t>(std::floor(curve[k] * kOne + 0.5));
    rest -= weights[k];
  }
  weights[0] = static_cast<int16_t>(rest);  // What makes the sum one.
  while (weights.back() == 0) weights.pop_back();
  return weights;
}

void Blur(const PixelView& image, const std::vector<int16_t>& weights, uint8_t* out) {
  CHECK(!weights.empty());
  const int64_t height = image.size.height;
  const int64_t count = image.size.width * image.channels;
  if (image.size.pixels() == 0) return;
  if (weights.size() == 1) return CopyPixels(image, out);
  const auto reach = static_cast<int64_t>(weights.size()) - 1;
  BlurredRows rows(image, weights);
  std::vector<const int16_t*> around(2 * weights.size() - 1);
  for (int64_t row = 0; row < height; ++row, out += count) {
    rows.At(std::min(row + reach, height - 1));
    around[0] = rows.At(row);
    for (int64_t k = 1; k <= reach; ++k) {
      around[2 * k - 1] = rows.At(Reflected(row - k, height));
      around[2 * k] = rows.At(Reflected(row + k, height));
    }
    HWY_DYNAMIC_DISPATCH(BlurAcross)(around, weights, count, out);
  }
}

}  // namespace millrace::kernels

#endif  // HWY_ONCE
