// Rows of one length, one behind the other: raw tensors, binary image sets. Bytes
// before the first and behind the last may be no rows. A file that ends inside a row is
// broken there.
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/storage/row_scanner.h"

namespace millrace::storage {

struct FixedOptions {
  int64_t offset = 0;        // Of the first row, or the header, in the file.
  int64_t record_bytes = 1;  // Of a row.
  int64_t header_bytes = 0;  // To pass over first.
  int64_t footer_bytes = 0;  // At the end of what is shown.
};

class FixedScanner final : public RowScanner {
 public:
  // Requires: rows have bytes, no size is negative.
  explicit FixedScanner(const FixedOptions& options);

  Found Look(std::string_view bytes, bool is_rest) override;

 private:
  Found LookAtEnd(std::string_view bytes);

  const FixedOptions options_;
  int64_t offset_;  // Of the place reached.
  bool in_header_;
  bool in_row_ = false;  // Behind its content.
};

// How many rows a file of so many bytes has; -1 where it ends inside one.
int64_t CountFixed(int64_t file_bytes, const FixedOptions& options);

}  // namespace millrace::storage
