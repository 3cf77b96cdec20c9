// The pipeline of images that is measured: JPEGs in tar files, cropped at random,
// resized, flipped and batched.
#pragma once

#include <cstdint>
#include <string>

namespace millrace::bench {

struct ImagePipelineOptions {
  std::string pattern;  // Of the tar files.
  bool floats = false;  // Normalised to planes of floats.
  int64_t repeats = 1;  // How often all images are read.
};

// Its text form.
std::string ImagePipeline(const ImagePipelineOptions& options);

}  // namespace millrace::bench
