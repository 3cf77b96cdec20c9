// TFRecord files: each row is a length (8 bytes), its checksum (4), the content, and
// the content's checksum (4); numbers lowest byte first, checksums masked CRC-32C.
// A broken length loses the rest of the file; broken content is the driver's to find,
// with the checksum that comes with the row.
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/storage/row_scanner.h"

namespace millrace::storage {

class TfrecordScanner final : public RowScanner {
 public:
  // Begins at a row at `offset` of the file.
  explicit TfrecordScanner(int64_t offset) : offset_(offset) {}

  Found Look(std::string_view bytes, bool is_rest) override;

 private:
  Found LookAtLength(std::string_view bytes, bool is_rest);
  Found LookAtChecksum(std::string_view bytes, bool is_rest);

  bool in_row_ = false;  // Behind the content, before its checksum.
  int64_t offset_;       // Of the place reached.
};

}  // namespace millrace::storage
