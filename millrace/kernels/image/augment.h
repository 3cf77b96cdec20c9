// The operations that augmentation policies choose from, and the policies: RandAugment,
// TrivialAugmentWide and AutoAugment, with torchvision's tables. Pure: what is drawn
// comes from a generator, and the result is the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "millrace/base/random.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

enum class AugmentKind : uint8_t {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColour,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert,
};

// One operation with its magnitude: a slope, pixels, degrees, what is added to a factor
// of 1, bits or a threshold.
struct Augment {
  AugmentKind kind = AugmentKind::kIdentity;
  double magnitude = 0;

  friend bool operator==(const Augment&, const Augment&) = default;
};

// Draws `count` operations, all of one magnitude of so many.
// Requires: 0 <= magnitude < bins, bins >= 2.
std::vector<Augment> DrawRandAugment(int64_t count, int64_t magnitude, int64_t bins,
                                     const ImageSize& size, base::Generator generator);

// Draws one operation and one of so many magnitudes, from wider ranges.
Augment DrawTrivialAugment(int64_t bins, base::Generator generator);

enum class AugmentPolicy : uint8_t { kImagenet, kCifar10, kSvhn };

// Requires: imagenet, cifar10 or svhn.
AugmentPolicy AugmentPolicyOf(std::string_view name);

// Draws one of a policy's 25 pairs, and which of the two operations are done.
std::vector<Augment> DrawAutoAugment(AugmentPolicy policy, const ImageSize& size,
                                     base::Generator generator);

// Writes an image after one operation to `out`, which must not be the image.
// Requires: the image lies side by side, has 3 channels, or 1, and passes
// CheckImageSize; `fill` is one pixel.
void Apply(const Augment& augment, const PixelView& image,
           const std::vector<uint8_t>& fill, uint8_t* out);

}  // namespace millrace::kernels
