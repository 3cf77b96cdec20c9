// Feeds the scanner of fixed rows anything; the first bytes choose the sizes.

#include "millrace/storage/fixed.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/storage/scan_test.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  const millrace::storage::FixedOptions options = {.record_bytes = 1 + data[0] % 32,
                                                   .header_bytes = data[1] % 32,
                                                   .footer_bytes = data[2] % 32};
  millrace::storage::CheckWindowsDoNotMatter(
      bytes, [&] { return millrace::storage::FixedScanner(options); });
  return 0;
}
