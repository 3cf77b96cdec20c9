// Feeds the TFRecord scanner anything.

#include "millrace/storage/tfrecord.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/storage/scan_test.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  millrace::storage::CheckWindowsDoNotMatter(
      bytes, [] { return millrace::storage::TfrecordScanner(0); });
  return 0;
}
