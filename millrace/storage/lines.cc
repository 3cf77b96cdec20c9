#include "millrace/storage/lines.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/text.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::storage {

Found LineScanner::Look(std::string_view bytes, bool is_rest) {
  switch (state_) {
    case State::kLine:
      return LookForEnd(bytes, is_rest);
    case State::kEnding:
      return EndLine(ending_, absl::OkStatus());
    case State::kTooLong:
      break;
  }
  return TooLong(bytes, is_rest);
}

Found LineScanner::LookForEnd(std::string_view bytes, bool is_rest) {
  if (bytes.empty() && is_rest) return End();
  const size_t feed = bytes.find('\n', seen_);
  const bool ends = feed != std::string_view::npos;
  const bool has_return = ends && feed > 0 && bytes[feed - 1] == '\r';
  ending_ = (ends ? 1 : 0) + (has_return ? 1 : 0);
  const auto size = static_cast<int64_t>(ends ? feed + 1 : bytes.size()) - ending_;
  // A byte more may be the carriage return of an end that was not shown yet.
  if (size > options_.line_bytes_max + (ends || is_rest ? 0 : 1)) {
    state_ = State::kTooLong;
    return TooLong(bytes, is_rest);
  }
  if (!ends && !is_rest) {
    seen_ = bytes.size();
    return More(std::max<int64_t>(1, 2 * size));
  }
  seen_ = 0;
  state_ = State::kEnding;
  offset_ += size;
  return Content(0, size, 0);
}

Found LineScanner::TooLong(std::string_view bytes, bool is_rest) {
  seen_ = 0;
  const size_t feed = bytes.find('\n');
  const bool ends = feed != std::string_view::npos;
  const auto size = static_cast<int64_t>(ends ? feed + 1 : bytes.size());
  offset_ += size;
  if (!ends && !is_rest) return More(1, size);
  offset_ -= size;
  return EndLine(size, absl::DataLossError(base::StrCat(
                           "line is too long: it has ", offset_ + size - begin_,
                           " bytes, at most ", options_.line_bytes_max, " are taken")));
}

Found LineScanner::EndLine(int64_t skip, const absl::Status& why) {
  row_.begin = begin_;
  row_.why = why;
  state_ = State::kLine;
  offset_ += skip;
  begin_ = offset_;
  return Row(skip);
}

}  // namespace millrace::storage
