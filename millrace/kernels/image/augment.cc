#include "millrace/kernels/image/augment.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/kernels/image/colour.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/tone.h"
#include "millrace/kernels/image/warp.h"

namespace millrace::kernels {
namespace {

using enum AugmentKind;

// What both random policies choose from. AutoAugment can invert as well.
constexpr AugmentKind kChoices[] = {kIdentity,     kShearX,    kShearY,     kTranslateX,
                                    kTranslateY,   kRotate,    kBrightness, kColour,
                                    kContrast,     kSharpness, kPosterize,  kSolarize,
                                    kAutoContrast, kEqualize};

// How far magnitudes reach.
struct Reach {
  double shear = 0.3;
  double translate_x = 0;  // Pixels.
  double translate_y = 0;
  double degrees = 30;
  double factor = 0.9;
  double bits = 4;  // Taken away.

  static Reach Of(const ImageSize& size) {
    constexpr double kShare = 150.0 / 331.0;
    return {.translate_x = kShare * static_cast<double>(size.width),
            .translate_y = kShare * static_cast<double>(size.height)};
  }

  static Reach Wide() {
    return {.shear = 0.99,
            .translate_x = 32,
            .translate_y = 32,
            .degrees = 135,
            .factor = 0.99,
            .bits = 6};
  }
};

// To the even neighbour of a half, as PyTorch rounds.
double RoundedToEven(double x) {
  const double down = std::floor(x);
  const double rest = x - down;
  if (rest != 0.5) return std::floor(x + 0.5);
  return std::fmod(down, 2) == 0 ? down : down + 1;
}

// An operation at a share of its reach, from 0 to 1.
Augment At(AugmentKind kind, double share, const Reach& reach) {
  switch (kind) {
    case kShearX:
    case kShearY:
      return {kind, share * reach.shear};
    case kTranslateX:
      return {kind, share * reach.translate_x};
    case kTranslateY:
      return {kind, share * reach.translate_y};
    case kRotate:
      return {kind, share * reach.degrees};
    case kBrightness:
    case kColour:
    case kContrast:
    case kSharpness:
      return {kind, share * reach.factor};
    case kPosterize:
      return {kind, 8 - RoundedToEven(share * reach.bits)};
    case kSolarize:
      return {kind, 255 * (1 - share)};
    default:
      return {kind, 0};
  }
}

bool HasSign(AugmentKind kind) { return kind >= kShearX && kind <= kSharpness; }

// The sign is drawn for every operation, so that draws do not depend on which it is.
Augment WithSign(Augment augment, base::Generator& generator) {
  const bool negative = generator.Integer(0, 2) == 1;
  if (negative && HasSign(augment.kind)) augment.magnitude = -augment.magnitude;
  return augment;
}

AugmentKind DrawKind(base::Generator& generator) {
  return kChoices[generator.Integer(0, std::size(kChoices))];
}

double ShareOf(int64_t magnitude, int64_t bins) {
  CHECK(bins >= 2 && magnitude >= 0 && magnitude < bins) << magnitude << " " << bins;
  return static_cast<double>(magnitude) / static_cast<double>(bins - 1);
}

// --- AutoAugment's tables ---

constexpr int64_t kPolicyBins = 10;

struct Step {
  AugmentKind kind = kIdentity;
  double chance = 0;
  int64_t magnitude = 0;  // Of kPolicyBins.
};

struct Pair {
  Step first;
  Step second;
};

constexpr Pair kImagenetPairs[] = {{{kPosterize, 0.4, 8}, {kRotate, 0.6, 9}},
                                   {{kSolarize, 0.6, 5}, {kAutoContrast, 0.6}},
                                   {{kEqualize, 0.8}, {kEqualize, 0.6}},
                                   {{kPosterize, 0.6, 7}, {kPosterize, 0.6, 6}},
                                   {{kEqualize, 0.4}, {kSolarize, 0.2, 4}},
                                   {{kEqualize, 0.4}, {kRotate, 0.8, 8}},
                                   {{kSolarize, 0.6, 3}, {kEqualize, 0.6}},
                                   {{kPosterize, 0.8, 5}, {kEqualize, 1.0}},
                                   {{kRotate, 0.2, 3}, {kSolarize, 0.6, 8}},
                                   {{kEqualize, 0.6}, {kPosterize, 0.4, 6}},
                                   {{kRotate, 0.8, 8}, {kColour, 0.4, 0}},
                                   {{kRotate, 0.4, 9}, {kEqualize, 0.6}},
                                   {{kEqualize, 0.0}, {kEqualize, 0.8}},
                                   {{kInvert, 0.6}, {kEqualize, 1.0}},
                                   {{kColour, 0.6, 4}, {kContrast, 1.0, 8}},
                                   {{kRotate, 0.8, 8}, {kColour, 1.0, 2}},
                                   {{kColour, 0.8, 8}, {kSolarize, 0.8, 7}},
                                   {{kSharpness, 0.4, 7}, {kInvert, 0.6}},
                                   {{kShearX, 0.6, 5}, {kEqualize, 1.0}},
                                   {{kColour, 0.4, 0}, {kEqualize, 0.6}},
                                   {{kEqualize, 0.4}, {kSolarize, 0.2, 4}},
                                   {{kSolarize, 0.6, 5}, {kAutoContrast, 0.6}},
                                   {{kInvert, 0.6}, {kEqualize, 1.0}},
                                   {{kColour, 0.6, 4}, {kContrast, 1.0, 8}},
                                   {{kEqualize, 0.8}, {kEqualize, 0.6}}};

constexpr Pair kCifar10Pairs[] = {{{kInvert, 0.1}, {kContrast, 0.2, 6}},
                                  {{kRotate, 0.7, 2}, {kTranslateX, 0.3, 9}},
                                  {{kSharpness, 0.8, 1}, {kSharpness, 0.9, 3}},
                                  {{kShearY, 0.5, 8}, {kTranslateY, 0.7, 9}},
                                  {{kAutoContrast, 0.5}, {kEqualize, 0.9}},
                                  {{kShearY, 0.2, 7}, {kPosterize, 0.3, 7}},
                                  {{kColour, 0.4, 3}, {kBrightness, 0.6, 7}},
                                  {{kSharpness, 0.3, 9}, {kBrightness, 0.7, 9}},
                                  {{kEqualize, 0.6}, {kEqualize, 0.5}},
                                  {{kContrast, 0.6, 7}, {kSharpness, 0.6, 5}},
                                  {{kColour, 0.7, 7}, {kTranslateX, 0.5, 8}},
                                  {{kEqualize, 0.3}, {kAutoContrast, 0.4}},
                                  {{kTranslateY, 0.4, 3}, {kSharpness, 0.2, 6}},
                                  {{kBrightness, 0.9, 6}, {kColour, 0.2, 8}},
                                  {{kSolarize, 0.5, 2}, {kInvert, 0.0}},
                                  {{kEqualize, 0.2}, {kAutoContrast, 0.6}},
                                  {{kEqualize, 0.2}, {kEqualize, 0.6}},
                                  {{kColour, 0.9, 9}, {kEqualize, 0.6}},
                                  {{kAutoContrast, 0.8}, {kSolarize, 0.2, 8}},
                                  {{kBrightness, 0.1, 3}, {kColour, 0.7, 0}},
                                  {{kSolarize, 0.4, 5}, {kAutoContrast, 0.9}},
                                  {{kTranslateY, 0.9, 9}, {kTranslateY, 0.7, 9}},
                                  {{kAutoContrast, 0.9}, {kSolarize, 0.8, 3}},
                                  {{kEqualize, 0.8}, {kInvert, 0.1}},
                                  {{kTranslateY, 0.7, 9}, {kAutoContrast, 0.9}}};

constexpr Pair kSvhnPairs[] = {{{kShearX, 0.9, 4}, {kInvert, 0.2}},
                               {{kShearY, 0.9, 8}, {kInvert, 0.7}},
                               {{kEqualize, 0.6}, {kSolarize, 0.6, 6}},
                               {{kInvert, 0.9}, {kEqualize, 0.6}},
                               {{kEqualize, 0.6}, {kRotate, 0.9, 3}},
                               {{kShearX, 0.9, 4}, {kAutoContrast, 0.8}},
                               {{kShearY, 0.9, 8}, {kInvert, 0.4}},
                               {{kShearY, 0.9, 5}, {kSolarize, 0.2, 6}},
                               {{kInvert, 0.9}, {kAutoContrast, 0.8}},
                               {{kEqualize, 0.6}, {kRotate, 0.9, 3}},
                               {{kShearX, 0.9, 4}, {kSolarize, 0.3, 3}},
                               {{kShearY, 0.8, 8}, {kInvert, 0.7}},
                               {{kEqualize, 0.9}, {kTranslateY, 0.6, 6}},
                               {{kInvert, 0.9}, {kEqualize, 0.6}},
                               {{kContrast, 0.3, 3}, {kRotate, 0.8, 4}},
                               {{kInvert, 0.8}, {kTranslateY, 0.0, 2}},
                               {{kShearY, 0.7, 6}, {kSolarize, 0.4, 8}},
                               {{kInvert, 0.6}, {kRotate, 0.8, 4}},
                               {{kShearY, 0.3, 7}, {kTranslateX, 0.9, 3}},
                               {{kShearX, 0.1, 6}, {kInvert, 0.6}},
                               {{kSolarize, 0.7, 2}, {kTranslateY, 0.6, 7}},
                               {{kShearY, 0.8, 4}, {kInvert, 0.8}},
                               {{kShearX, 0.7, 9}, {kTranslateY, 0.8, 3}},
                               {{kShearY, 0.8, 5}, {kAutoContrast, 0.7}},
                               {{kShearX, 0.7, 2}, {kInvert, 0.1}}};

absl::Span<const Pair> PairsOf(AugmentPolicy policy) {
  switch (policy) {
    case AugmentPolicy::kImagenet:
      return kImagenetPairs;
    case AugmentPolicy::kCifar10:
      return kCifar10Pairs;
    case AugmentPolicy::kSvhn:
      return kSvhnPairs;
  }
  return {};
}

// --- Doing it ---

// Shears go around the upper left corner here, not around the middle.
AffineMap MapOf(const Augment& augment, const ImageSize& size) {
  const double by = augment.magnitude;
  switch (augment.kind) {
    case kShearX:
      return {.xy = by};
    case kShearY:
      return {.yx = by};
    case kTranslateX:
      return {.x0 = -std::trunc(by)};
    case kTranslateY:
      return {.y0 = -std::trunc(by)};
    default:
      CHECK(augment.kind == kRotate);
      return kernels::MapOf({.angle = -by}, size, size);
  }
}

}  // namespace

std::vector<Augment> DrawRandAugment(int64_t count, int64_t magnitude, int64_t bins,
                                     const ImageSize& size, base::Generator generator) {
  const double share = ShareOf(magnitude, bins);
  std::vector<Augment> augments;
  for (int64_t i = 0; i < count; ++i) {
    const Augment augment = At(DrawKind(generator), share, Reach::Of(size));
    augments.push_back(WithSign(augment, generator));
  }
  return augments;
}

Augment DrawTrivialAugment(int64_t bins, base::Generator generator) {
  const AugmentKind kind = DrawKind(generator);
  const double share = ShareOf(generator.Integer(0, bins), bins);
  return WithSign(At(kind, share, Reach::Wide()), generator);
}

AugmentPolicy AugmentPolicyOf(std::string_view name) {
  if (name == "cifar10") return AugmentPolicy::kCifar10;
  if (name == "svhn") return AugmentPolicy::kSvhn;
  CHECK_EQ(name, "imagenet");
  return AugmentPolicy::kImagenet;
}

std::vector<Augment> DrawAutoAugment(AugmentPolicy policy, const ImageSize& size,
                                     base::Generator generator) {
  const absl::Span<const Pair> pairs = PairsOf(policy);
  const Pair& pair = pairs[generator.Integer(0, static_cast<int64_t>(pairs.size()))];
  std::vector<Augment> augments;
  for (const Step& step : {pair.first, pair.second}) {
    const bool done = generator.Uniform() < step.chance;
    const Augment augment =
        WithSign(At(step.kind, ShareOf(step.magnitude, kPolicyBins), Reach::Of(size)),
                 generator);
    if (done) augments.push_back(augment);
  }
  return augments;
}

void Apply(const Augment& augment, const PixelView& image,
           const std::vector<uint8_t>& fill, uint8_t* out) {
  const Colours<uint8_t> colours = {
      .first = image.first, .pixels = image.size.pixels(), .channels = image.channels};
  CHECK_EQ(image.stride, image.size.width * image.channels);
  const double by = augment.magnitude;
  switch (augment.kind) {
    case kIdentity:
      return CopyPixels(image, out);
    case kBrightness:
      return AdjustBrightness(colours, 1 + by, out);
    case kColour:
      return AdjustSaturation(colours, 1 + by, out);
    case kContrast:
      return AdjustContrast(colours, 1 + by, out);
    case kSharpness:
      return AdjustSharpness(image, 1 + by, out);
    case kPosterize:
      return Posterize(colours, static_cast<int>(by), out);
    case kSolarize:
      return Solarize(colours, by, out);
    case kAutoContrast:
      return AutoContrast(colours, out);
    case kEqualize:
      return Equalize(colours, out);
    case kInvert:
      return Invert(colours, out);
    default:
      return Warp(image, MapOf(augment, image.size), {.fill = fill}, image.size, out);
  }
}

}  // namespace millrace::kernels
