#include "millrace/bench/sample_images.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/sample_data.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::bench {
namespace {

constexpr int64_t kBlock = 512;

int64_t Octal(std::string_view digits) {
  int64_t value = 0;
  for (const char digit : digits) value = value * 8 + (digit - '0');
  return value;
}

// Finds the JPEGs of a tar file that MakeImages wrote.
absl::Status FindImages(const std::shared_ptr<const storage::Blob>& blob,
                        std::vector<ImagePlace>& images) {
  std::array<std::byte, kBlock> block;
  for (int64_t at = 0;;) {
    TRY(blob->Read(at, absl::MakeSpan(block)));
    const std::string_view header(reinterpret_cast<const char*>(block.data()), kBlock);
    if (header[0] == '\0') return absl::OkStatus();
    const std::string_view name = header.substr(0, header.find('\0'));
    const int64_t bytes = Octal(header.substr(124, 11));
    if (name.ends_with(".jpg")) images.push_back({blob, at + kBlock, bytes});
    at += kBlock + (bytes + kBlock - 1) / kBlock * kBlock;
  }
}

}  // namespace

absl::StatusOr<SampleTars> MakeSampleTars(const std::string& folder, int64_t count) {
  const storage::BlobStore& store = storage::ProcessFiles();
  const std::string below = base::StrCat(folder, "/jpeg-", count);
  SampleTars tars = {.pattern = base::StrCat(below, "/images-{000..003}.tar")};
  if (!store.Find(base::StrCat(below, "/images-003.tar")).ok()) {
    TRY(MakeImages({.folder = below, .count = count, .files = 4}));
  }
  const std::vector<std::string> patterns = {tars.pattern};
  for (const storage::BlobInfo& file : TRY(store.List(patterns))) {
    TRY(FindImages(TRY(store.Open(file)), tars.images));
  }
  return tars;
}

}  // namespace millrace::bench
