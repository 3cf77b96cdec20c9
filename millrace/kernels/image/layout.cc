#include "millrace/kernels/image/layout.h"

#include <cstddef>
#include <cstdint>

#include "millrace/base/check.h"

// Vectors without a fixed size are left to NEON, as in the other loops of this folder.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "millrace/kernels/image/layout.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();

namespace millrace::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Both move most of three channels, whole vectors only, and give how many pixels.
template <typename T>
int64_t SplitThree(const T* pixels, int64_t count, T* out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<decltype(d)> red;
    hn::Vec<decltype(d)> green;
    hn::Vec<decltype(d)> blue;
    hn::LoadInterleaved3(d, pixels + 3 * i, red, green, blue);
    hn::StoreU(red, d, out + i);
    hn::StoreU(green, d, out + count + i);
    hn::StoreU(blue, d, out + 2 * count + i);
  }
  return i;
}

template <typename T>
int64_t JoinThree(const T* planes, int64_t count, T* out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreInterleaved3(hn::LoadU(d, planes + i), hn::LoadU(d, planes + count + i),
                          hn::LoadU(d, planes + 2 * count + i), d, out + 3 * i);
  }
  return i;
}

int64_t SplitThree8(const uint8_t* pixels, int64_t count, uint8_t* out) {
  return SplitThree(pixels, count, out);
}

int64_t SplitThree32(const uint32_t* pixels, int64_t count, uint32_t* out) {
  return SplitThree(pixels, count, out);
}

int64_t JoinThree8(const uint8_t* planes, int64_t count, uint8_t* out) {
  return JoinThree(planes, count, out);
}

int64_t JoinThree32(const uint32_t* planes, int64_t count, uint32_t* out) {
  return JoinThree(planes, count, out);
}

}  // namespace millrace::kernels::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace millrace::kernels {

HWY_EXPORT(SplitThree8);
HWY_EXPORT(SplitThree32);
HWY_EXPORT(JoinThree8);
HWY_EXPORT(JoinThree32);

namespace {

// Bytes and 32 bits, which images are, are fast; others are not worth their code.
int64_t Split(const uint8_t* from, int64_t count, uint8_t* out) {
  return HWY_DYNAMIC_DISPATCH(SplitThree8)(from, count, out);
}

int64_t Split(const uint32_t* from, int64_t count, uint32_t* out) {
  return HWY_DYNAMIC_DISPATCH(SplitThree32)(from, count, out);
}

int64_t Join(const uint8_t* from, int64_t count, uint8_t* out) {
  return HWY_DYNAMIC_DISPATCH(JoinThree8)(from, count, out);
}

int64_t Join(const uint32_t* from, int64_t count, uint32_t* out) {
  return HWY_DYNAMIC_DISPATCH(JoinThree32)(from, count, out);
}

template <typename T>
int64_t Split(const T*, int64_t, T*) {
  return 0;
}

template <typename T>
int64_t Join(const T*, int64_t, T*) {
  return 0;
}

template <typename T>
void Spread(const std::byte* pixels, const Planes& shape, std::byte* out) {
  const T* from = reinterpret_cast<const T*>(pixels);
  T* to = reinterpret_cast<T*>(out);
  int64_t done = shape.channels == 3 ? Split(from, shape.pixels, to) : 0;
  for (; done < shape.pixels; ++done) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      to[c * shape.pixels + done] = from[done * shape.channels + c];
    }
  }
}

template <typename T>
void Gather(const std::byte* planes, const Planes& shape, std::byte* out) {
  const T* from = reinterpret_cast<const T*>(planes);
  T* to = reinterpret_cast<T*>(out);
  int64_t done = shape.channels == 3 ? Join(from, shape.pixels, to) : 0;
  for (; done < shape.pixels; ++done) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      to[done * shape.channels + c] = from[c * shape.pixels + done];
    }
  }
}

}  // namespace

void ToPlanes(const std::byte* pixels, const Planes& shape, std::byte* out) {
  switch (shape.value_bytes) {
    case 1:
      return Spread<uint8_t>(pixels, shape, out);
    case 2:
      return Spread<uint16_t>(pixels, shape, out);
    case 4:
      return Spread<uint32_t>(pixels, shape, out);
    default:
      CHECK_EQ(shape.value_bytes, 8);
      return Spread<uint64_t>(pixels, shape, out);
  }
}

void FromPlanes(const std::byte* planes, const Planes& shape, std::byte* out) {
  switch (shape.value_bytes) {
    case 1:
      return Gather<uint8_t>(planes, shape, out);
    case 2:
      return Gather<uint16_t>(planes, shape, out);
    case 4:
      return Gather<uint32_t>(planes, shape, out);
    default:
      CHECK_EQ(shape.value_bytes, 8);
      return Gather<uint64_t>(planes, shape, out);
  }
}

}  // namespace millrace::kernels

#endif  // HWY_ONCE
