// Feeds the tar scanner anything.

#include "millrace/storage/tar.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/storage/scan_test.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  millrace::storage::CheckWindowsDoNotMatter(bytes, [] {
    return millrace::storage::TarScanner({.offset = 0, .fields = {"txt", "jpg"}});
  });
  return 0;
}
