// Makes sample data: images that cost to decode what photographs cost, and lines of
// text. The same seed gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::bench {

// Makes a folder and those above it, unless they are there.
absl::Status MakeFolder(const std::string& folder);

struct SampleImages {
  std::string folder;
  int64_t count = 1000;
  int64_t files = 4;  // Tar files to spread them over.
  int64_t height = 375;
  int64_t width = 500;
  int64_t classes = 10;
  uint64_t seed = 0;
};

// Writes images-000.tar, ... with members KEY.jpg and KEY.cls. Gives their paths.
absl::StatusOr<std::vector<std::string>> MakeImages(const SampleImages& options);

struct SampleText {
  std::string folder;
  int64_t lines = 100'000;
  int64_t files = 4;
  int64_t words = 20;  // In a line, on average.
  uint64_t seed = 0;
};

// Writes text-000.txt, ... of lines of words. Gives their paths.
absl::StatusOr<std::vector<std::string>> MakeText(const SampleText& options);

}  // namespace millrace::bench
