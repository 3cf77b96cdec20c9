// Rows of CSV files, as RFC 4180 has them: a row ends with a line feed, or carriage
// return and line feed, or the end of the file, but not inside of quotes. Quotes open
// where a cell begins; inside of them a quote is written twice. Empty lines are no
// rows; nor is a header, where the file has one. A row over the limit is a bad row, and
// so is one whose quotes are still open at the end of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/storage/row_scanner.h"

namespace millrace::storage {

struct CsvOptions {
  int64_t offset = 0;  // Of the first row in the file.
  bool header = true;  // There is one at the beginning of the file.
  char separator = ',';
  char quote = '"';                           // 0: there are none.
  int64_t row_bytes_max = int64_t{64} << 20;  // Content, without its end.
  // Looks at the header, without its end; where it is wrong, so is the file.
  std::function<absl::Status(std::string_view)> check_header = {};
};

class CsvScanner final : public RowScanner {
 public:
  explicit CsvScanner(const CsvOptions& options)
      : options_(options),
        offset_(options.offset),
        begin_(options.offset),
        in_header_(options.header && options.offset == 0) {}

  Found Look(std::string_view bytes, bool is_rest) override;

 private:
  enum class State : uint8_t { kRow, kEnding, kTooLong };

  Found LookForEnd(std::string_view bytes, bool is_rest);
  Found PassHeader(std::string_view row);
  Found TooLong(std::string_view bytes, bool is_rest);
  Found EndRow(int64_t skip, const absl::Status& why);
  bool FindEnd(std::string_view bytes);
  bool OpensAt(std::string_view bytes, size_t place) const;
  void Forget();

  const CsvOptions options_;
  State state_ = State::kRow;
  int64_t offset_;  // Of the place reached.
  int64_t begin_;   // Of the row.

  // Of the row's bytes, the first so many were looked at and do not end it.
  size_t seen_ = 0;
  bool quoted_ = false;       // Behind them quotes are open.
  bool just_closed_ = false;  // The last one of them closed quotes.
  char before_ = '\n';        // What comes before the bytes that are shown.

  int64_t ending_ = 0;  // Bytes of the row's end.
  bool in_header_;
};

}  // namespace millrace::storage
