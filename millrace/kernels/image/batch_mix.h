// Mixes the images of a batch with each other, as mixup and CutMix do: what is drawn
// once for a batch, and what it does to images and to labels. Pure; bit for bit the
// same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/random.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// What is drawn for a batch. As numbers: lambda, the box (top, left, height, width),
// then the partner of each image.
struct BatchMix {
  double lambda = 1;  // How much of an image stays; the rest is its partner's.
  Box box = {};       // What is the partner's; empty: all pixels are blended instead.
  std::vector<int64_t> partners = {};

  // Numbers before the partners.
  static constexpr int64_t kHead = 5;

  void Write(double* out) const;

  // Reads and checks numbers that may come from anywhere, for images of a size; for
  // labels, any box is right.
  static absl::StatusOr<BatchMix> Read(absl::Span<const double> numbers);
};

// Draws from the Beta distribution with both parameters alpha.
// Requires: 0 < alpha <= kAlphaMost.
double DrawBeta(double alpha, base::Generator& generator);

inline constexpr double kAlphaMost = 1000;

// Draws partners, each order equally likely, and lambda.
BatchMix DrawMixup(int64_t count, double alpha, base::Generator generator);

// The same, and a box whose share of the image is about 1 - lambda, anywhere; lambda
// is then what its part inside of the image leaves.
// Requires: CheckImageSize says so.
BatchMix DrawCutmix(int64_t count, const ImageSize& size, double alpha,
                    base::Generator generator);

// Writes lambda * a + (1 - lambda) * b for each value; of bytes, rounded.
void BlendValues(absl::Span<const uint8_t> a, absl::Span<const uint8_t> b,
                 double lambda, uint8_t* out);
void BlendValues(absl::Span<const float> a, absl::Span<const float> b, double lambda,
                 float* out);

}  // namespace millrace::kernels
