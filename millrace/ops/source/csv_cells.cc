#include "millrace/ops/source/csv_cells.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::ops {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101U;
constexpr uint64_t kLow = 0x7F7F7F7F7F7F7F7FU;

// The highest bit of each byte that is zero.
uint64_t ZeroBytes(uint64_t word) { return ~(((word & kLow) + kLow) | word | kLow); }

}  // namespace

absl::Status CsvCells::Split(std::string_view row, size_t cells_max) {
  cells_.resize(cells_max);
  count_ = 0;
  if (syntax_.quote == 0 || row.find(syntax_.quote) == std::string_view::npos) {
    SplitPlain(row);
    return absl::OkStatus();
  }
  return SplitQuoted(row);
}

// Eight bytes at a time.
void CsvCells::SplitPlain(std::string_view row) {
  const uint64_t separators = kOnes * static_cast<unsigned char>(syntax_.separator);
  size_t begin = 0;
  size_t at = 0;
  const auto end_at = [&](size_t end) {
    Put({row.data() + begin, end - begin}, false);
    begin = end + 1;
  };
  if constexpr (std::endian::native == std::endian::little) {
    for (; at + sizeof(uint64_t) <= row.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, row.data() + at, sizeof(word));
      for (uint64_t hits = ZeroBytes(word ^ separators); hits != 0; hits &= hits - 1) {
        end_at(at + static_cast<size_t>(std::countr_zero(hits)) / 8);
      }
    }
  }
  for (; at < row.size(); ++at) {
    if (row[at] == syntax_.separator) end_at(at);
  }
  end_at(row.size());
}

absl::Status CsvCells::SplitQuoted(std::string_view row) {
  unquoted_.clear();
  unquoted_.reserve(row.size());  // So that texts in it stay where they are.
  size_t at = 0;
  while (true) {
    if (at < row.size() && row[at] == syntax_.quote) {
      TRY(TakeQuoted(row, at));
    } else {
      const size_t end = std::min(row.find(syntax_.separator, at), row.size());
      Put(row.substr(at, end - at), false);
      at = end;
    }
    if (at == row.size()) return absl::OkStatus();
    ++at;
  }
}

// Takes a cell that begins with a quote; `at` is then behind it.
absl::Status CsvCells::TakeQuoted(std::string_view row, size_t& at) {
  const size_t begin = at + 1;
  const size_t kept = unquoted_.size();
  size_t from = begin;
  while (true) {
    const size_t quote = row.find(syntax_.quote, from);
    if (quote == std::string_view::npos) {
      return absl::DataLossError(
          base::StrCat("cell ", count_ + 1, " opens quotes that nothing closes"));
    }
    at = quote + 1;
    if (at < row.size() && row[at] == syntax_.quote) {
      unquoted_.append(row.substr(from, at - from));
      from = at + 1;
      continue;
    }
    if (at < row.size() && row[at] != syntax_.separator) {
      return absl::DataLossError(
          base::StrCat("cell ", count_ + 1, " goes on behind its closing quote"));
    }
    if (from == begin) {
      Put(row.substr(begin, quote - begin), true);
    } else {
      unquoted_.append(row.substr(from, quote - from));
      Put(std::string_view(unquoted_).substr(kept), true);
    }
    return absl::OkStatus();
  }
}

}  // namespace millrace::ops
