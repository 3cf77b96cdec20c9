// Feeds the scanner of lines anything. How the bytes are shown must not matter,
// and what is broken must be DataLoss.

#include "millrace/storage/lines.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/storage/scan_test.h"

namespace millrace::storage {
namespace {

Scanned Scan(std::string_view bytes, size_t window) {
  LineScanner scanner({.offset = 0, .line_bytes_max = 20});
  return ScanAll(scanner, bytes, window);
}

}  // namespace
}  // namespace millrace::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = millrace::storage::Scan(bytes, size);
  const auto cut = millrace::storage::Scan(bytes, 1 + size / 3);
  CHECK(whole.rows == cut.rows);
  CHECK(whole.status.code() == cut.status.code());
  CHECK(whole.status.ok() || absl::IsDataLoss(whole.status)) << whole.status;
  return 0;
}
