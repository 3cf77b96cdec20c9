#include "millrace/kernels/image/batch_mix.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/portable_exp.h"
#include "millrace/base/portable_log.h"
#include "millrace/base/random.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

// Above 0, so that it has a logarithm.
double PositiveUniform(base::Generator& generator) { return 1 - generator.Uniform(); }

// The logarithm of a draw from the Gamma distribution (Marsaglia and Tsang, "A simple
// method for generating gamma variables", 2000): of alpha + 1, times U^(1 / alpha).
// Only logarithms, since for small alpha the number itself is next to 0.
double DrawLogGamma(double alpha, base::Generator& generator) {
  constexpr int kTries = 1000;  // Each succeeds in more than nine of ten cases.
  const double d = alpha + 1 - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  double log_gamma = base::PortableLog(d);
  for (int i = 0; i < kTries; ++i) {
    const double x = generator.Normal();
    const double root = 1 + c * x;
    const double u = PositiveUniform(generator);
    if (root <= 1e-9) continue;
    const double v = root * root * root;
    const double log_v = base::PortableLog(v);
    if (base::PortableLog(u) >= 0.5 * x * x + d - d * v + d * log_v) continue;
    log_gamma = base::PortableLog(d) + log_v;
    break;
  }
  return log_gamma + base::PortableLog(PositiveUniform(generator)) / alpha;
}

bool IsWhole(double x, double least, double most) {
  return x >= least && x <= most && x == std::floor(x);
}

absl::Status Wrong() {
  return absl::InvalidArgumentError(
      "the draw is not one of draw_mixup or draw_cutmix for as many images");
}

}  // namespace

void BatchMix::Write(double* out) const {
  const double head[] = {lambda, static_cast<double>(box.top),
                         static_cast<double>(box.left), static_cast<double>(box.height),
                         static_cast<double>(box.width)};
  out = std::ranges::copy(head, out).out;
  for (const int64_t partner : partners) *out++ = static_cast<double>(partner);
}

absl::StatusOr<BatchMix> BatchMix::Read(absl::Span<const double> numbers) {
  if (static_cast<int64_t>(numbers.size()) < kHead) return Wrong();
  BatchMix mix = {.lambda = numbers[0]};
  const bool right = mix.lambda >= 0 && mix.lambda <= 1 &&
                     std::ranges::all_of(numbers.subspan(1, 4), [](double side) {
                       return IsWhole(side, 0, static_cast<double>(kSideMax));
                     });
  if (!right) return Wrong();
  mix.box = {.top = static_cast<int64_t>(numbers[1]),
             .left = static_cast<int64_t>(numbers[2]),
             .height = static_cast<int64_t>(numbers[3]),
             .width = static_cast<int64_t>(numbers[4])};
  const absl::Span<const double> partners = numbers.subspan(kHead);
  for (const double partner : partners) {
    if (!IsWhole(partner, 0, static_cast<double>(partners.size()) - 1)) return Wrong();
    mix.partners.push_back(static_cast<int64_t>(partner));
  }
  return mix;
}

double DrawBeta(double alpha, base::Generator& generator) {
  CHECK(alpha > 0 && alpha <= kAlphaMost) << alpha;
  const double first = DrawLogGamma(alpha, generator);
  const double second = DrawLogGamma(alpha, generator);
  return 1 / (1 + base::PortableExp(std::clamp(second - first, -700.0, 700.0)));
}

BatchMix DrawMixup(int64_t count, double alpha, base::Generator generator) {
  BatchMix mix;
  mix.partners.resize(static_cast<size_t>(count));
  std::iota(mix.partners.begin(), mix.partners.end(), 0);
  mix.lambda = DrawBeta(alpha, generator);
  generator.Shuffle(std::span(mix.partners));
  return mix;
}

BatchMix DrawCutmix(int64_t count, const ImageSize& size, double alpha,
                    base::Generator generator) {
  CHECK(CheckImageSize(size).ok());
  base::Generator places = generator.Split(0);
  BatchMix mix = DrawMixup(count, alpha, generator);
  const double reach = 0.5 * std::sqrt(1 - mix.lambda);
  const auto range = [&](int64_t side, int64_t& begin) {
    const int64_t middle = places.Integer(0, side);
    const auto half = static_cast<int64_t>(reach * static_cast<double>(side));
    begin = std::max<int64_t>(middle - half, 0);
    return std::min(middle + half, side) - begin;
  };
  mix.box.height = range(size.height, mix.box.top);
  mix.box.width = range(size.width, mix.box.left);
  mix.lambda = 1 - static_cast<double>(mix.box.size().pixels()) /
                       static_cast<double>(size.pixels());
  return mix;
}

void BlendValues(absl::Span<const uint8_t> a, absl::Span<const uint8_t> b,
                 double lambda, uint8_t* out) {
  CHECK_EQ(a.size(), b.size());
  const auto weight = static_cast<int>(std::floor(lambda * 32768 + 0.5));
  for (size_t i = 0; i < a.size(); ++i) {
    out[i] =
        static_cast<uint8_t>((a[i] * weight + b[i] * (32768 - weight) + 16384) >> 15);
  }
}

void BlendValues(absl::Span<const float> a, absl::Span<const float> b, double lambda,
                 float* out) {
  CHECK_EQ(a.size(), b.size());
  const auto weight = static_cast<float>(lambda);
  const auto rest = static_cast<float>(1 - lambda);
  for (size_t i = 0; i < a.size(); ++i) out[i] = a[i] * weight + b[i] * rest;
}

}  // namespace millrace::kernels
