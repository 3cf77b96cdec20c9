#include "millrace/codec/json_path.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/number_text.h"

namespace millrace::codec {
namespace {

absl::Status Wrong(size_t at, std::string_view what) {
  return absl::InvalidArgumentError(
      base::StrCat("is no path: it has ", what, " at its byte ", at,
                   "; paths are like a.b[0] or a[\"key.with.dots\"]"));
}

// Reads what stands between brackets, from behind the first one on; goes behind the
// last one.
absl::StatusOr<JsonPathStep> TakeBrackets(std::string_view text, size_t& at) {
  const size_t begin = at;
  const char quote = begin < text.size() ? text[begin] : '\0';
  if (quote == '"' || quote == '\'') {
    const size_t end = text.find(quote, begin + 1);
    if (end == std::string_view::npos) return Wrong(begin, "a quote without an end");
    if (!text.substr(end + 1).starts_with(']')) {
      return Wrong(end + 1, "no closing bracket");
    }
    at = end + 2;
    return JsonPathStep{.key = std::string(text.substr(begin + 1, end - begin - 1))};
  }
  const size_t end = text.find(']', begin);
  if (end == std::string_view::npos) return Wrong(begin, "no closing bracket");
  int64_t index = 0;
  const NumberRead read = ReadInteger(text.substr(begin, end - begin), &index);
  if (read != NumberRead::kDone || text[begin] == '-') {
    return Wrong(begin, "no index from 0 on, nor a key in quotes");
  }
  at = end + 1;
  return JsonPathStep{.index = index};
}

// Reads a step; goes behind it.
absl::StatusOr<JsonPathStep> TakeStep(std::string_view text, size_t& at) {
  if (text[at] == '[') return TakeBrackets(text, ++at);
  if (at > 0 && text[at] != '.') return Wrong(at, "neither a dot nor a bracket");
  const size_t begin = at + (at > 0 ? 1 : 0);
  const size_t end = std::min(text.find_first_of(".[]", begin), text.size());
  if (end == begin) return Wrong(begin, "no key");
  at = end;
  return JsonPathStep{.key = std::string(text.substr(begin, end - begin))};
}

}  // namespace

absl::StatusOr<JsonPath> JsonPath::Parse(std::string_view text) {
  JsonPath path;
  path.text_ = std::string(text);
  for (size_t at = 0; at < text.size();) {
    if (path.steps_.size() == kStepsMax) {
      return Wrong(at, base::StrCat("more than ", kStepsMax, " steps"));
    }
    path.steps_.push_back(TRY(TakeStep(text, at)));
    path.ends_.push_back(at);
  }
  return path;
}

std::string JsonPath::Beginning(size_t steps) const {
  return steps == 0 ? "the text" : text_.substr(0, ends_[steps - 1]);
}

}  // namespace millrace::codec
