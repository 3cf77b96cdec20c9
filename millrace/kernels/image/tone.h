// Changes of tone that augmentation policies use: invert, posterize, solarize,
// equalize, autocontrast and sharpness, of bytes. What they mean is torchvision's and
// Pillow's. Pure; any number of channels; bit for bit the same on every machine.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "millrace/kernels/image/colour.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// 255 - x.
void Invert(const Colours<uint8_t>& image, uint8_t* out);

// Keeps the upper bits of each value. Requires: CheckBits says so.
void Posterize(const Colours<uint8_t>& image, int bits, uint8_t* out);

// Inverts what is at least the threshold.
void Solarize(const Colours<uint8_t>& image, double threshold, uint8_t* out);

// Stretches each channel so that its least value becomes 0 and its largest 255.
void AutoContrast(const Colours<uint8_t>& image, uint8_t* out);

// Gives each channel values that come about equally often, as Pillow does.
void Equalize(const Colours<uint8_t>& image, uint8_t* out);

// Away from the same image slightly smoothed: 0 is smoothed, 1 changes nothing. Pixels
// at the edge stay. `out` must not be the image. Requires: CheckFactor says so.
void AdjustSharpness(const PixelView& image, double factor, uint8_t* out);

// Checks how many bits are kept: a whole number from 0 to 8.
absl::Status CheckBits(double bits);

// Checks a threshold: a number, not an absence of one.
absl::Status CheckThreshold(double threshold);

}  // namespace millrace::kernels
