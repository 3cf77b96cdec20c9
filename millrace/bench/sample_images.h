// JPEGs in tar files, and where each lies, for a loop that reads them by hand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/storage/blob_store.h"

namespace millrace::bench {

struct ImagePlace {
  std::shared_ptr<const storage::Blob> blob;
  int64_t offset = 0;
  int64_t bytes = 0;
};

struct SampleTars {
  std::string pattern;                  // That matches the files.
  std::vector<ImagePlace> images = {};  // In order.
};

// Makes so many images of 500 x 375 in four files, unless they are there.
absl::StatusOr<SampleTars> MakeSampleTars(const std::string& folder, int64_t count);

}  // namespace millrace::bench
