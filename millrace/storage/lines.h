// Lines of text: each ends with a line feed, or carriage return and line feed, or the
// end of the file; a file that ends with a line feed has no empty line behind it. A
// line over the limit is a bad row; reading goes on with the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/storage/row_scanner.h"

namespace millrace::storage {

struct LineOptions {
  int64_t offset = 0;                          // Of the first line in the file.
  int64_t line_bytes_max = int64_t{64} << 20;  // Content, without its end.
};

class LineScanner final : public RowScanner {
 public:
  explicit LineScanner(const LineOptions& options)
      : options_(options), offset_(options.offset), begin_(options.offset) {}

  Found Look(std::string_view bytes, bool is_rest) override;

 private:
  enum class State : uint8_t { kLine, kEnding, kTooLong };

  Found LookForEnd(std::string_view bytes, bool is_rest);
  Found TooLong(std::string_view bytes, bool is_rest);
  Found EndLine(int64_t skip, const absl::Status& why);

  const LineOptions options_;
  State state_ = State::kLine;
  int64_t offset_;      // Of the place reached.
  int64_t begin_;       // Of the line.
  size_t seen_ = 0;     // Bytes from here on that have no line feed.
  int64_t ending_ = 0;  // Bytes of the line's end.
};

}  // namespace millrace::storage
