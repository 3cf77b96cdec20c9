#include "millrace/bench/sample_data.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"

#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/encode_jpeg.h"
#include "millrace/kernels/image/image.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/tar_writer.h"

namespace millrace::bench {
namespace {

constexpr int kQuality = 87;
constexpr int64_t kNoise =
    60;  // Levels: this much makes a JPEG as large as a photograph.

base::Generator GeneratorOf(uint64_t seed, int64_t item) {
  return {base::RandomKey(seed, 0, 0), {0, static_cast<uint64_t>(item)}};
}

// Slopes, edges and noise.
std::vector<uint8_t> DrawPixels(const kernels::ImageSize& size, base::Generator draw) {
  std::vector<uint8_t> pixels(size.pixels() * kernels::kColours);
  const int64_t shift = draw.Integer(0, 256);
  const int64_t grain = draw.Integer(5, 15);
  size_t place = 0;
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      for (int64_t c = 0; c < kernels::kColours; ++c) {
        const int64_t slope = (x * (c + 2) + y * (5 - c) + shift) % 256 / 2;
        const int64_t edge = (x / grain + y / 7 + c) % 2 == 0 ? 70 : 0;
        const int64_t value = slope + edge + draw.Integer(0, kNoise + 1);
        pixels[place++] = static_cast<uint8_t>(std::min<int64_t>(value, 255));
      }
    }
  }
  return pixels;
}

absl::Status AddImage(const SampleImages& options, int64_t number,
                      storage::TarWriter& tar) {
  const kernels::ImageSize size = {options.height, options.width};
  base::Generator draw = GeneratorOf(options.seed, number);
  const int64_t label = draw.Integer(0, options.classes);
  const std::vector<uint8_t> pixels = DrawPixels(size, draw);
  const std::string jpeg = kernels::EncodeJpeg(
      kernels::DenseView(pixels.data(), size, kernels::kColours), kQuality);
  TRY(tar.Add(absl::StrFormat("%07d.jpg", number), jpeg));
  return tar.Add(absl::StrFormat("%07d.cls", number), base::StrCat(label));
}

std::string Line(const SampleText& options, int64_t number) {
  base::Generator draw = GeneratorOf(options.seed, number);
  std::string line;
  const int64_t words = draw.Integer(1, 2 * options.words);
  for (int64_t word = 0; word < words; ++word) {
    if (word > 0) line += ' ';
    const int64_t letters = draw.Integer(1, 10);
    for (int64_t i = 0; i < letters; ++i) {
      line += static_cast<char>('a' + draw.Integer(0, 26));
    }
  }
  return line + "\n";
}

// The items [begin, end) of a file, when `count` are spread over `files`.
std::pair<int64_t, int64_t> ShareOf(int64_t file, int64_t files, int64_t count) {
  return {count * file / files, count * (file + 1) / files};
}

}  // namespace

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return absl::PermissionDeniedError(
      base::StrCat("cannot make the folder ", folder, ": ", error.message()));
}

absl::StatusOr<std::vector<std::string>> MakeImages(const SampleImages& options) {
  TRY(MakeFolder(options.folder));
  std::vector<std::string> paths;
  for (int64_t file = 0; file < options.files; ++file) {
    paths.push_back(absl::StrFormat("%s/images-%03d.tar", options.folder, file));
    storage::TarWriter tar(TRY(storage::ProcessFiles().Create(paths.back())));
    const auto [begin, end] = ShareOf(file, options.files, options.count);
    for (int64_t i = begin; i < end; ++i) TRY(AddImage(options, i, tar));
    TRY(tar.Publish());
  }
  return paths;
}

absl::StatusOr<std::vector<std::string>> MakeText(const SampleText& options) {
  TRY(MakeFolder(options.folder));
  std::vector<std::string> paths;
  for (int64_t file = 0; file < options.files; ++file) {
    paths.push_back(absl::StrFormat("%s/text-%03d.txt", options.folder, file));
    const std::unique_ptr<storage::BlobWriter> writer =
        TRY(storage::ProcessFiles().Create(paths.back()));
    const auto [begin, end] = ShareOf(file, options.files, options.lines);
    for (int64_t i = begin; i < end; ++i) TRY(writer->Append(Line(options, i)));
    TRY(writer->Publish(storage::Sync::kNow));
  }
  return paths;
}

}  // namespace millrace::bench
