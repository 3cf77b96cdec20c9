// Splits a row of CSV into its cells. What is in quotes is given without them, and with
// one quote where two stand. Single-threaded; a pass over the row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace millrace::ops {

struct CsvSyntax {
  char separator = ',';
  char quote = '"';  // 0: there are none.
};

struct CsvCell {
  std::string_view text;
  bool quoted = false;
};

class CsvCells {
 public:
  explicit CsvCells(const CsvSyntax& syntax) : syntax_(syntax) {}

  // Splits a row, without its end; of cells beyond so many only their number is told.
  // DataLoss when quotes are not as they should be. The row is used until the next one.
  absl::Status Split(std::string_view row, size_t cells_max);

  // How many there are, ...
  size_t count() const { return count_; }

  // ... and one of the first `cells_max`.
  const CsvCell& operator[](size_t place) const { return cells_[place]; }

 private:
  void SplitPlain(std::string_view row);
  absl::Status SplitQuoted(std::string_view row);
  absl::Status TakeQuoted(std::string_view row, size_t& at);

  void Put(std::string_view text, bool quoted) {
    if (count_ < cells_.size()) cells_[count_] = {text, quoted};
    ++count_;
  }

  const CsvSyntax syntax_;
  std::vector<CsvCell> cells_;
  size_t count_ = 0;
  std::string unquoted_;  // Cells whose text is not in the row as it is.
};

}  // namespace millrace::ops
