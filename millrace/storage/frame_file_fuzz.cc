// Feeds the reader of files of frames anything, as it is and with an end and checksums
// that fit, so that the table is looked at. What is opened must speak of all its bytes.

#include "millrace/storage/frame_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/storage/blob_store.h"

namespace millrace::storage {
namespace {

class MemoryBlob final : public Blob {
 public:
  explicit MemoryBlob(std::string bytes)
      : bytes_(std::move(bytes)),
        info_({.path = "a", .bytes = std::ssize(bytes_), .version = ""}) {}

  const BlobInfo& info() const override { return info_; }

  absl::StatusOr<int64_t> Read(int64_t offset,
                               absl::Span<std::byte> room) const override {
    CHECK(offset >= 0 && offset <= info_.bytes);
    const auto size = std::min<int64_t>(std::ssize(room), info_.bytes - offset);
    if (size > 0) std::memcpy(room.data(), bytes_.data() + offset, size);
    return size;
  }

 private:
  const std::string bytes_;
  const BlobInfo info_;
};

void Open(std::string bytes) {
  const auto size = std::ssize(bytes);
  const absl::StatusOr<std::unique_ptr<FrameFile>> file =
      FrameFile::Open(std::make_unique<MemoryBlob>(std::move(bytes)));
  if (!file.ok()) {
    CHECK(absl::IsDataLoss(file.status())) << file.status();
    return;
  }
  int64_t all = 0;
  for (size_t i = 0; i < (*file)->frames().size(); ++i) {
    const frames::FrameSize& frame = (*file)->frames()[i];
    all += frame.bytes;
    core::Buffer room = core::HeapPool().Allocate(frame.bytes).value();
    CHECK((*file)->Read(static_cast<int64_t>(i), room.MutableAs<std::byte>()).ok());
    (void)frames::Decode(room);
  }
  CHECK_LT(all, size);
}

// The first byte says how much of the rest is the table.
void OpenWithEnd(std::string_view input) {
  if (input.size() < 2) return;
  const size_t table_size =
      std::min<size_t>(static_cast<uint8_t>(input[0]), input.size() - 2);
  const auto count = static_cast<uint8_t>(input[1]);
  const std::string_view rest = input.substr(2);
  const std::string_view table = rest.substr(rest.size() - table_size);
  std::string end = "mrfile01";
  codec::PutNumber(count, 8, end);
  codec::PutNumber(table.size(), 8, end);
  codec::PutNumber(codec::Crc32c(table), 4, end);
  codec::PutNumber(codec::Crc32c(end), 4, end);
  Open(std::string(rest) + end);
}

}  // namespace
}  // namespace millrace::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  millrace::storage::Open(std::string(bytes));
  millrace::storage::OpenWithEnd(bytes);
  return 0;
}
