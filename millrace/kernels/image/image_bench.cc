// How long the work on one image takes, one core: a JPEG of 500 x 375 and about 100 KB
// (much noise, so that entropy decoding weighs as in photographs), a crop of 300 x 250,
// and a result of 224 x 224.

#include "millrace/kernels/image/image.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "benchmark/benchmark.h"

#include "millrace/base/check.h"
#include "millrace/core/column.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/image/augment.h"
#include "millrace/kernels/image/blur.h"
#include "millrace/kernels/image/colour.h"
#include "millrace/kernels/image/decode_jpeg.h"
#include "millrace/kernels/image/decode_webp.h"
#include "millrace/kernels/image/encode_webp.h"
#include "millrace/kernels/image/flip.h"
#include "millrace/kernels/image/layout.h"
#include "millrace/kernels/image/normalize.h"
#include "millrace/kernels/image/random_rows_test.h"
#include "millrace/kernels/image/resize.h"
#include "millrace/kernels/image/resize_weights.h"
#include "millrace/kernels/image/samples_test.h"
#include "millrace/kernels/image/warp.h"

namespace millrace::kernels {
namespace {

constexpr ImageSize kWhole = {375, 500};
constexpr Box kCrop = {60, 100, 250, 300};
constexpr ImageSize kResult = {224, 224};

const std::string& Jpeg() {
  static const std::string bytes =
      EncodeJpeg(Draw(kWhole, kColours, 60), {.quality = 87, .across = 2, .down = 2});
  return bytes;
}

void DecodeWhole(benchmark::State& state) {
  Picture out = Blank(ScaledSize(kWhole, state.range(0)));
  for (auto _ : state) {
    CHECK(DecodeJpeg(Jpeg(), state.range(0), absl::MakeSpan(out.pixels)).ok());
  }
  state.SetLabel(std::to_string(Jpeg().size()) + " bytes");
}

BENCHMARK(DecodeWhole)->Arg(1)->Arg(2)->Arg(8)->Unit(benchmark::kMicrosecond);

void DecodeCrop(benchmark::State& state) {
  Picture out = Blank(kCrop.size());
  for (auto _ : state) {
    CHECK(DecodeJpegRegion(Jpeg(), kCrop, absl::MakeSpan(out.pixels)).ok());
  }
}

BENCHMARK(DecodeCrop)->Unit(benchmark::kMicrosecond);

void ReadSize(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(JpegSize(Jpeg())->height);
}

BENCHMARK(ReadSize);

void ResizeCrop(benchmark::State& state, ResizeMethod method, bool antialias) {
  const Picture picture = Draw({state.range(0), state.range(1)});
  Picture out = Blank(kResult);
  for (auto _ : state) {
    Resize(picture.view(), {.size = kResult, .method = method, .antialias = antialias},
           out.pixels.data());
    benchmark::DoNotOptimize(out.pixels.data());
  }
}

#define BENCHMARK_RESIZE(name, method, antialias)        \
  BENCHMARK_CAPTURE(ResizeCrop, name, method, antialias) \
      ->Args({250, 300})                                 \
      ->Args({120, 150})                                 \
      ->Args({375, 500})                                 \
      ->Unit(benchmark::kMicrosecond)

BENCHMARK_RESIZE(nearest, ResizeMethod::kNearest, false);
BENCHMARK_RESIZE(bilinear, ResizeMethod::kBilinear, false);
BENCHMARK_RESIZE(bilinear_antialias, ResizeMethod::kBilinear, true);
BENCHMARK_RESIZE(bicubic, ResizeMethod::kBicubic, false);
BENCHMARK_RESIZE(bicubic_antialias, ResizeMethod::kBicubic, true);

// What one would write without thinking of vectors: the measure for the loops above.
void ResizeScalar(benchmark::State& state) {
  const Picture picture = Draw(kCrop.size());
  Picture out = Blank(kResult);
  const float down = static_cast<float>(kCrop.height) / kResult.height;
  const float across = static_cast<float>(kCrop.width) / kResult.width;
  for (auto _ : state) {
    uint8_t* place = out.pixels.data();
    for (int64_t y = 0; y < kResult.height; ++y) {
      const float row = std::max(0.0F, (static_cast<float>(y) + 0.5F) * down - 0.5F);
      const auto top = static_cast<int64_t>(row);
      const uint8_t* upper = picture.view().Row(top);
      const uint8_t* lower = picture.view().Row(std::min(top + 1, kCrop.height - 1));
      const float below = row - static_cast<float>(top);
      for (int64_t x = 0; x < kResult.width; ++x) {
        const float column =
            std::max(0.0F, (static_cast<float>(x) + 0.5F) * across - 0.5F);
        const auto left = static_cast<int64_t>(column);
        const int64_t right = std::min(left + 1, kCrop.width - 1);
        const float beside = column - static_cast<float>(left);
        for (int64_t c = 0; c < kColours; ++c) {
          const auto value = [&](const uint8_t* line, int64_t place) {
            return static_cast<float>(line[3 * place + c]);
          };
          const float a =
              value(upper, left) + beside * (value(upper, right) - value(upper, left));
          const float b =
              value(lower, left) + beside * (value(lower, right) - value(lower, left));
          // NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative, and quick.
          *place++ = static_cast<uint8_t>(a + below * (b - a) + 0.5F);
        }
      }
    }
    benchmark::DoNotOptimize(out.pixels.data());
  }
}

BENCHMARK(ResizeScalar)->Unit(benchmark::kMicrosecond);

void Flip(benchmark::State& state) {
  const Picture picture = Draw(kResult);
  Picture out = Blank(kResult);
  for (auto _ : state) {
    FlipHorizontal(picture.view(), out.pixels.data());
    benchmark::DoNotOptimize(out.pixels.data());
  }
}

BENCHMARK(Flip)->Unit(benchmark::kMicrosecond);

void NormalizeImage(benchmark::State& state) {
  const Picture picture = Draw(kResult);
  const ChannelLines lines =
      ChannelLines::Of({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 1.0 / 255);
  std::vector<float> out(picture.pixels.size());
  for (auto _ : state) {
    if (state.range(0) == 0) {
      Normalize(picture.pixels.data(), kResult.pixels(), lines, out.data());
    } else {
      NormalizeToPlanes(picture.pixels.data(), kResult.pixels(), lines, out.data());
    }
    benchmark::DoNotOptimize(out.data());
  }
  state.SetLabel(state.range(0) == 0 ? "hwc" : "chw");
}

BENCHMARK(NormalizeImage)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

void SplitPlanes(benchmark::State& state) {
  const Picture picture = Draw(kResult);
  Picture out = Blank(kResult);
  for (auto _ : state) {
    ToPlanes(reinterpret_cast<const std::byte*>(picture.pixels.data()),
             {.channels = kColours, .pixels = kResult.pixels()},
             reinterpret_cast<std::byte*>(out.pixels.data()));
    benchmark::DoNotOptimize(out.pixels.data());
  }
}

BENCHMARK(SplitPlanes)->Unit(benchmark::kMicrosecond);

using ColourChange = void (*)(const Colours<uint8_t>&, double, uint8_t*);

void ChangeColour(benchmark::State& state, ColourChange change, double by) {
  const Picture picture = Draw(kResult);
  Picture out = Blank(kResult);
  for (auto _ : state) {
    change({.first = picture.pixels.data(), .pixels = kResult.pixels()}, by,
           out.pixels.data());
    benchmark::DoNotOptimize(out.pixels.data());
  }
}

#define BENCHMARK_COLOUR(name, change, by) \
  BENCHMARK_CAPTURE(ChangeColour, name, change, by)->Unit(benchmark::kMicrosecond)

BENCHMARK_COLOUR(brightness, AdjustBrightness, 1.3);
BENCHMARK_COLOUR(contrast, AdjustContrast, 1.3);
BENCHMARK_COLOUR(saturation, AdjustSaturation, 1.3);
BENCHMARK_COLOUR(hue, AdjustHue, 0.1);

void MakeGrey(benchmark::State& state) {
  const Picture picture = Draw(kResult);
  Picture out = Blank(kResult);
  for (auto _ : state) {
    ToGrey({.first = picture.pixels.data(), .pixels = kResult.pixels()}, kColours,
           out.pixels.data());
    benchmark::DoNotOptimize(out.pixels.data());
  }
}

BENCHMARK(MakeGrey)->Unit(benchmark::kMicrosecond);

// A kernel of 23 pixels, by a sigma in tenths.
void BlurImage(benchmark::State& state) {
  const Picture picture = Draw(kResult);
  Picture out = Blank(kResult);
  const double sigma = static_cast<double>(state.range(0)) / 10;
  for (auto _ : state) {
    Blur(picture.view(), BlurWeights(23, sigma), out.pixels.data());
    benchmark::DoNotOptimize(out.pixels.data());
  }
}

BENCHMARK(BlurImage)->Arg(5)->Arg(10)->Arg(20)->Arg(100)->Unit(benchmark::kMicrosecond);

void TurnImage(benchmark::State& state) {
  const Picture picture = Draw(kResult);
  Picture out = Blank(kResult);
  const WarpOptions options = {.bilinear = state.range(0) == 1, .fill = {0, 0, 0}};
  for (auto _ : state) {
    Warp(picture.view(), MapOf({.angle = 17}, kResult, kResult), options, kResult,
         out.pixels.data());
    benchmark::DoNotOptimize(out.pixels.data());
  }
  state.SetLabel(options.bilinear ? "bilinear" : "nearest");
}

BENCHMARK(TurnImage)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

// One operation of the augmentation policies, by its number.
void AugmentImage(benchmark::State& state) {
  const Picture picture = Draw(kResult);
  Picture out = Blank(kResult);
  const Augment augment = {static_cast<AugmentKind>(state.range(0)), 0.5};
  for (auto _ : state) {
    Apply(augment, picture.view(), {0, 0, 0}, out.pixels.data());
    benchmark::DoNotOptimize(out.pixels.data());
  }
}

BENCHMARK(AugmentImage)->DenseRange(0, 14)->Unit(benchmark::kMicrosecond);

void DecodeWebpImage(benchmark::State& state) {
  const std::string bytes = *EncodeWebp(Draw(kWhole).view(), 80);
  Picture out = Blank(kWhole);
  for (auto _ : state) {
    CHECK(DecodeWebp(bytes, absl::MakeSpan(out.pixels)).ok());
  }
  state.SetLabel(std::to_string(bytes.size()) + " bytes");
}

BENCHMARK(DecodeWebpImage)->Unit(benchmark::kMicrosecond);

// The crop of a training image, decoded alone or cut out of the whole.
PixelView Cropped(bool alone, std::vector<uint8_t>& room) {
  if (alone) return *DecodeJpegPart(Jpeg(), kCrop, absl::MakeSpan(room));
  CHECK(DecodeJpeg(Jpeg(), 1, absl::MakeSpan(room)).ok());
  return PartOf(DenseView(room.data(), kWhole), kCrop);
}

// All that is done to a training image, cropping while decoding or after.
void WholeChain(benchmark::State& state) {
  const bool alone = state.range(0) == 1;
  const bool antialias = state.range(1) == 1;
  std::vector<uint8_t> room(static_cast<size_t>(kWhole.pixels() * kColours));
  Picture resized = Blank(kResult);
  Picture flipped = Blank(kResult);
  for (auto _ : state) {
    Resize(Cropped(alone, room), {.size = kResult, .antialias = antialias},
           resized.pixels.data());
    FlipHorizontal(resized.view(), flipped.pixels.data());
    benchmark::DoNotOptimize(flipped.pixels.data());
  }
  state.SetLabel(alone ? "cropped while decoding" : "decoded whole");
}

BENCHMARK(WholeChain)->ArgsProduct({{1, 0}, {0, 1}})->Unit(benchmark::kMicrosecond);

// What SimCLR does to a decoded image, by the kernels themselves, 64 rows at a time.
void SimclrChain(benchmark::State& state) {
  constexpr int64_t kRows = 64;
  const core::Column images = Copies(Draw(kWhole), kRows);
  const ir::Arguments crop = {
      {"height", 224}, {"width", 224}, {"antialias", state.range(0) == 1}};
  const ir::Arguments jitter = {{"brightness", 0.8},
                                {"contrast", 0.8},
                                {"saturation", 0.8},
                                {"hue", 0.2},
                                {"p", 0.8}};
  for (auto _ : state) {
    core::Column rows = *CallRandom("random_resized_crop", images, crop);
    rows = *CallRandom("random_flip", rows);
    rows = *CallRandom("color_jitter", rows, jitter);
    rows = *CallRandom("random_grayscale", rows, {{"p", 0.2}});
    rows = *CallRandom("random_gaussian_blur", rows, {{"kernel_size", 23}});
    benchmark::DoNotOptimize(rows);
  }
  state.SetItemsProcessed(state.iterations() * kRows);
  state.SetLabel(state.range(0) == 1 ? "antialias" : "without antialias");
}

BENCHMARK(SimclrChain)->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace::kernels
