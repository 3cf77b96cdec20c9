#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/bench/image_pipeline.h"
#include "millrace/bench/line.h"
#include "millrace/bench/rate.h"
#include "millrace/bench/sample_images.h"
#include "millrace/bench/workload.h"
#include "millrace/exec/engine.h"
#include "millrace/kernels/image/crop_box.h"
#include "millrace/kernels/image/decode_jpeg.h"
#include "millrace/kernels/image/flip.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/normalize.h"
#include "millrace/kernels/image/resize.h"

namespace millrace::bench {
namespace {

using kernels::ImageSize;

constexpr int64_t kImages = 2048;
constexpr int64_t kBatch = 256;
constexpr ImageSize kResult = {224, 224};
constexpr int64_t kResultBytes = int64_t{224} * 224 * 3;
constexpr uint64_t kSeed = 5;

// The work on one image, by hand over the same kernels.
struct Loop {
  bool whole = false;   // Decodes all of it, and resizes without vectors.
  bool floats = false;  // Normalises to planes of floats.
};

// What a thread keeps from image to image.
struct Scratch {
  std::vector<uint8_t> decoded;
  std::vector<uint8_t> resized = std::vector<uint8_t>(kResultBytes);
  std::vector<uint8_t> flipped = std::vector<uint8_t>(kResultBytes);
  kernels::ChannelLines lines = kernels::ChannelLines::Of(
      {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 1.0 / 255);
};

// Two lines of pixels, and how far below the upper one a result lies.
struct Lines {
  const uint8_t* upper;
  const uint8_t* lower;
  float below;
};

// One row of a bilinear resize, as one writes it without thinking of vectors.
void ResizeRowPlainly(const Lines& lines, int64_t width, uint8_t* out) {
  const float across = static_cast<float>(width) / kResult.width;
  for (int64_t x = 0; x < kResult.width; ++x) {
    const float column = std::max(0.0F, (static_cast<float>(x) + 0.5F) * across - 0.5F);
    const auto left = static_cast<int64_t>(column);
    const int64_t right = std::min(left + 1, width - 1);
    const float beside = column - static_cast<float>(left);
    for (int64_t c = 0; c < 3; ++c) {
      const auto mix = [&](const uint8_t* line) {
        const auto a = static_cast<float>(line[3 * left + c]);
        const auto b = static_cast<float>(line[3 * right + c]);
        return a + (b - a) * beside;
      };
      const float upper = mix(lines.upper);
      const float value = upper + (mix(lines.lower) - upper) * lines.below;
      *out++ = static_cast<uint8_t>(std::lround(value));
    }
  }
}

void ResizePlainly(const kernels::PixelView& image, uint8_t* out) {
  const float down = static_cast<float>(image.size.height) / kResult.height;
  for (int64_t y = 0; y < kResult.height; ++y) {
    const float row = std::max(0.0F, (static_cast<float>(y) + 0.5F) * down - 0.5F);
    const auto top = static_cast<int64_t>(row);
    const Lines lines = {image.Row(top),
                         image.Row(std::min(top + 1, image.size.height - 1)),
                         row - static_cast<float>(top)};
    ResizeRowPlainly(lines, image.size.width, out + y * kResult.width * 3);
  }
}

absl::Status DecodeAndResize(std::string_view jpeg, const Loop& loop,
                             const base::Generator& draw, Scratch& scratch) {
  const ImageSize size = TRY(kernels::JpegSize(jpeg));
  const kernels::Box box = kernels::DrawCropBox(size, {}, draw);
  const ImageSize decoded = loop.whole ? size : box.size();
  scratch.decoded.resize(decoded.pixels() * 3);
  const absl::Span<uint8_t> room = absl::MakeSpan(scratch.decoded);
  const kernels::PixelView view = kernels::DenseView(room.data(), decoded);
  if (loop.whole) {
    TRY(kernels::DecodeJpeg(jpeg, 1, room));
    ResizePlainly(kernels::PartOf(view, box), scratch.resized.data());
    return absl::OkStatus();
  }
  TRY(kernels::DecodeJpegRegion(jpeg, box, room));
  kernels::Resize(view, {.size = kResult}, scratch.resized.data());
  return absl::OkStatus();
}

absl::Status MakeRow(std::string_view jpeg, const Loop& loop, base::Generator draw,
                     Scratch& scratch, std::byte* out) {
  TRY(DecodeAndResize(jpeg, loop, draw, scratch));
  const kernels::PixelView resized =
      kernels::DenseView(scratch.resized.data(), kResult);
  uint8_t* const flipped =
      loop.floats ? scratch.flipped.data() : reinterpret_cast<uint8_t*>(out);
  if (draw.Uniform() < 0.5) {
    kernels::FlipHorizontal(resized, flipped);
  } else {
    kernels::CopyPixels(resized, flipped);
  }
  if (loop.floats) {
    kernels::NormalizeToPlanes(flipped, kResult.pixels(), scratch.lines,
                               reinterpret_cast<float*>(out));
  }
  return absl::OkStatus();
}

// Threads take image after image; each goes to its place in its batch.
absl::StatusOr<double> LoopOver(const std::vector<ImagePlace>& images, const Loop& loop,
                                int threads) {
  const int64_t row_bytes = kResultBytes * (loop.floats ? 4 : 1);
  const auto count = static_cast<int64_t>(images.size());
  // Two batches are in work at most: rows are taken in order.
  std::vector<std::vector<std::byte>> batches(2);
  for (auto& batch : batches) batch.resize(kBatch * row_bytes);
  std::atomic<int64_t> next = 0;
  return LoopRate(threads, static_cast<double>(count), [&](int) -> absl::Status {
    Scratch scratch;
    std::vector<std::byte> jpeg;
    for (int64_t i = next++; i < count; i = next++) {
      const ImagePlace& place = images[i];
      jpeg.resize(place.bytes);
      TRY(place.blob->Read(place.offset, absl::MakeSpan(jpeg)));
      const base::Generator draw(base::RandomKey(kSeed, 0, 0),
                                 {0, static_cast<uint64_t>(i)});
      TRY(MakeRow({reinterpret_cast<const char*>(jpeg.data()), jpeg.size()}, loop, draw,
                  scratch, batches[i / kBatch % 2].data() + i % kBatch * row_bytes));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<Line> RunLine(const SampleTars& tars, const BenchOptions& options,
                             const Loop& loop, Line line) {
  const std::string pipeline =
      ImagePipeline({.pattern = tars.pattern, .floats = loop.floats});
  exec::Engine engine(ImageEngine(options.threads));
  const Medians medians = TRY(Compare(
      options.repeats,
      [&] {
        return PassRate(pipeline, engine, static_cast<int64_t>(tars.images.size()));
      },
      [&] { return LoopOver(tars.images, loop, options.threads); }));
  line.unit = "images/s";
  line.ours = medians.ours;
  line.limit = medians.limit;
  return line;
}

}  // namespace

absl::StatusOr<std::vector<Line>> RunImages(const BenchOptions& options) {
  const SampleTars tars = TRY(MakeSampleTars(options.folder, kImages));
  std::vector<Line> lines;
  lines.push_back(TRY(RunLine(tars, options, {},
                              {.name = "JPEG, crop 224, flip, batch(256)",
                               .limit_is = "a loop over the same kernels",
                               .bar = 0.94})));
  lines.push_back(TRY(RunLine(tars, options, {.whole = true},
                              {.name = "the same",
                               .limit_is = "a loop: whole decode, plain resize",
                               .bar = 1.4})));
  lines.push_back(TRY(RunLine(tars, options, {.floats = true},
                              {.name = "the same, to float32 CHW",
                               .limit_is = "a loop over the same kernels",
                               .bar = 0.9})));
  return lines;
}

}  // namespace millrace::bench
