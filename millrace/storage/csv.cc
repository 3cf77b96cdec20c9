#include "millrace/storage/csv.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/text.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::storage {
namespace {

constexpr size_t kNone = std::string_view::npos;

}  // namespace

Found CsvScanner::Look(std::string_view bytes, bool is_rest) {
  switch (state_) {
    case State::kRow:
      return LookForEnd(bytes, is_rest);
    case State::kEnding:
      return EndRow(ending_, absl::OkStatus());
    case State::kTooLong:
      break;
  }
  return TooLong(bytes, is_rest);
}

// Tells whether a quote opens quotes, or goes on in those that one before it closed.
bool CsvScanner::OpensAt(std::string_view bytes, size_t place) const {
  if (just_closed_ && place == seen_) return true;
  const char before = place > 0 ? bytes[place - 1] : before_;
  return before == options_.separator || before == '\n';
}

// Looks for the line feed that ends the row; `seen_` is then its place.
bool CsvScanner::FindEnd(std::string_view bytes) {
  size_t feed = 0;  // The next one from `seen_` on, once it was looked for.
  bool found = false;
  while (seen_ < bytes.size()) {
    if (quoted_) {
      const size_t close = bytes.find(options_.quote, seen_);
      seen_ = close == kNone ? bytes.size() : close + 1;
      quoted_ = close == kNone;
      just_closed_ = !quoted_;
      continue;
    }
    if (!found || feed < seen_) feed = std::min(bytes.find('\n', seen_), bytes.size());
    found = true;
    size_t quote = kNone;
    if (options_.quote != 0) {
      quote = bytes.substr(0, feed).find(options_.quote, seen_);
    }
    if (quote == kNone) {
      just_closed_ = just_closed_ && feed == seen_;
      seen_ = feed;
      return feed < bytes.size();
    }
    quoted_ = OpensAt(bytes, quote);
    just_closed_ = false;
    seen_ = quote + 1;
  }
  return false;
}

Found CsvScanner::LookForEnd(std::string_view bytes, bool is_rest) {
  if (bytes.empty() && is_rest) return End();
  const bool ends = FindEnd(bytes);
  const bool has_return = ends && seen_ > 0 && bytes[seen_ - 1] == '\r';
  ending_ = (ends ? 1 : 0) + (has_return ? 1 : 0);
  const auto size = static_cast<int64_t>(ends ? seen_ + 1 : bytes.size()) - ending_;
  // A byte more may be the carriage return of an end that was not shown yet.
  if (size > options_.row_bytes_max + (ends || is_rest ? 0 : 1)) {
    state_ = State::kTooLong;
    return TooLong(bytes, is_rest);
  }
  if (!ends && !is_rest) return More(std::max<int64_t>(1, 2 * std::ssize(bytes)));
  if (in_header_) return PassHeader(bytes.substr(0, size));
  if (quoted_) {
    return EndRow(size, absl::DataLossError(base::StrCat(
                            "quotes are opened and still open at the end of the file, ",
                            size, " bytes later")));
  }
  Forget();
  if (size == 0) {  // An empty line.
    offset_ += ending_;
    begin_ = offset_;
    return More(1, ending_);
  }
  state_ = State::kEnding;
  offset_ += size;
  return Content(0, size, 0);
}

Found CsvScanner::PassHeader(std::string_view row) {
  in_header_ = false;
  if (options_.check_header) {
    const absl::Status checked = options_.check_header(row);
    if (!checked.ok()) return Broken(checked);
  }
  const int64_t size = std::ssize(row) + ending_;
  Forget();
  offset_ += size;
  begin_ = offset_;
  return size > 0 ? More(1, size) : End();
}

Found CsvScanner::TooLong(std::string_view bytes, bool is_rest) {
  if (in_header_) {
    return Broken(absl::DataLossError(
        base::StrCat("header is too long: at most ", options_.row_bytes_max,
                     " bytes are taken: are these files CSV?")));
  }
  if (bytes.empty() && !is_rest) return More(1);
  const bool ends = FindEnd(bytes);
  const auto size = static_cast<int64_t>(ends ? seen_ + 1 : bytes.size());
  if (!ends && !is_rest) {
    before_ = bytes.back();
    seen_ = 0;
    offset_ += size;
    return More(1, size);
  }
  return EndRow(
      size, absl::DataLossError(base::StrCat(
                "row is too long: it has ", offset_ + size - begin_, " bytes, at most ",
                options_.row_bytes_max, " are taken: are all quotes closed?")));
}

void CsvScanner::Forget() {
  seen_ = 0;
  quoted_ = false;
  just_closed_ = false;
  before_ = '\n';
}

Found CsvScanner::EndRow(int64_t skip, const absl::Status& why) {
  Forget();
  row_.begin = begin_;
  row_.why = why;
  state_ = State::kRow;
  offset_ += skip;
  begin_ = offset_;
  return Row(skip);
}

}  // namespace millrace::storage
