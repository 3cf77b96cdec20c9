#include "millrace/storage/fixed.h"

#include <cstdint>
#include <iterator>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::storage {

FixedScanner::FixedScanner(const FixedOptions& options)
    : options_(options), offset_(options.offset), in_header_(options.header_bytes > 0) {
  CHECK_GT(options.record_bytes, 0);
  CHECK(options.header_bytes >= 0 && options.footer_bytes >= 0);
}

Found FixedScanner::Look(std::string_view bytes, bool is_rest) {
  if (in_header_) {
    in_header_ = false;
    offset_ += options_.header_bytes;
    return More(1, options_.header_bytes);
  }
  if (in_row_) {
    in_row_ = false;
    row_.begin = offset_;
    offset_ += options_.record_bytes;
    return Row(0);
  }
  const int64_t needed = options_.record_bytes + options_.footer_bytes;
  if (std::ssize(bytes) < needed) return is_rest ? LookAtEnd(bytes) : More(needed);
  in_row_ = true;
  return Content(0, options_.record_bytes, 0);
}

Found FixedScanner::LookAtEnd(std::string_view bytes) {
  const int64_t size = std::ssize(bytes);
  if (size == options_.footer_bytes) return End();
  return Broken(absl::DataLossError(base::StrCat(
      "file ends with ", size, " bytes from byte ", offset_, " on, where a ",
      "row has ", options_.record_bytes, " and the footer ", options_.footer_bytes,
      ": it was not copied whole, or its rows have another size")));
}

int64_t CountFixed(int64_t file_bytes, const FixedOptions& options) {
  const int64_t without_header = file_bytes - options.header_bytes;
  const int64_t bytes = without_header - options.footer_bytes;
  if (without_header < 0 || bytes < 0 || bytes % options.record_bytes != 0) return -1;
  return bytes / options.record_bytes;
}

}  // namespace millrace::storage
