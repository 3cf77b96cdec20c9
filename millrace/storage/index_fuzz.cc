// Feeds the reader of indexes anything, with a checksum that fits, so that what is
// behind it is reached. What is read must be a good index, and be written the same way.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/row_index.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::storage {
namespace {

void Read(std::string_view bytes) {
  const BlobInfo file = {.path = "a", .bytes = 1000, .version = "v"};
  const absl::StatusOr<RowIndex> index = DecodeIndex(bytes, RowFormat::kTar, file);
  if (!index.ok()) {
    CHECK(absl::IsDataLoss(index.status()) ||
          absl::IsFailedPrecondition(index.status()))
        << index.status();
    return;
  }
  CHECK_LE(index->OffsetOf(index->rows()), file.bytes);
  const std::string written = EncodeIndex(*index, RowFormat::kTar, file);
  CHECK(DecodeIndex(written, RowFormat::kTar, file).value() == *index);
}

}  // namespace
}  // namespace millrace::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  millrace::storage::Read(bytes);
  millrace::storage::Read(bytes + millrace::storage::MaskedCrc(bytes));
  return 0;
}
