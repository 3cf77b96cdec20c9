// The way to a value inside a JSON text, as users write it: "a.b[0]" is the first item
// of the member b of the member a. Keys with dots or brackets stand in brackets and
// quotes, as in a["b.c"] or a['b.c']. The empty path is the whole value. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::codec {

struct JsonPathStep {
  std::string key = {};  // Of a member.
  int64_t index = -1;    // Of an item, from 0; else there is a key.

  bool is_item() const { return index >= 0; }

  friend bool operator==(const JsonPathStep&, const JsonPathStep&) = default;
};

class JsonPath {
 public:
  // More steps than this nobody needs.
  static constexpr size_t kStepsMax = 100;

  // InvalidArgument where a text is no path: the error says at which byte.
  static absl::StatusOr<JsonPath> Parse(std::string_view text);

  const std::vector<JsonPathStep>& steps() const { return steps_; }

  // The text of the first steps, as it was given; "the text" where there are none.
  std::string Beginning(size_t steps) const;

 private:
  std::string text_;
  std::vector<JsonPathStep> steps_;
  std::vector<size_t> ends_;  // Where each step ends in the text.
};

}  // namespace millrace::codec
