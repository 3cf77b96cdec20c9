// Feeds the finder of Arrow's messages anything. What it finds lies inside the bytes,
// one behind the other.

#include "millrace/adapters/arrow/messages.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/memory_blob_test.h"
#include "millrace/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const millrace::arrow::MemoryBlob blob(
      std::string(reinterpret_cast<const char*>(data), size));
  const absl::StatusOr<millrace::arrow::Messages> found =
      millrace::arrow::FindMessages(blob);
  if (!found.ok()) {
    CHECK(absl::IsDataLoss(found.status())) << found.status();
    return 0;
  }
  int64_t end = found->schema.offset + found->schema.size;
  for (const millrace::arrow::BatchMessage& batch : found->batches) {
    CHECK_GE(batch.message.offset, end);
    CHECK_GE(batch.rows, 0);
    end = batch.message.offset + batch.message.size;
  }
  CHECK_LE(end, static_cast<int64_t>(size));
  return 0;
}
