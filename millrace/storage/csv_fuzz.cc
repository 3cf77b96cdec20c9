// Feeds the scanner of CSV anything.

#include "millrace/storage/csv.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/storage/scan_test.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  millrace::storage::CheckWindowsDoNotMatter(bytes, [] {
    return millrace::storage::CsvScanner({.header = false, .row_bytes_max = 20});
  });
  millrace::storage::CheckWindowsDoNotMatter(
      bytes, [] { return millrace::storage::CsvScanner({}); });
  return 0;
}
