// Finds values in JSON objects, by the paths that lead to them. What nobody asks for is
// passed over: of it only the encoding, the quotes and the number of brackets are
// checked. A picker is single-threaded and keeps room for the longest text it saw,
// about six times its size; it costs a pass over the text.
//
//   JsonPicker picker({"id", "meta.score"});
//   TRY(picker.Pick(text, values));      // values[1].text == "0.5"
//
// A finder does the same for one path, which may lead through arrays too, and into any
// JSON value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/codec/json_path.h"
#include "millrace/codec/json_text.h"

namespace millrace::codec {

// So many bytes behind a text are read too, whatever they are.
inline constexpr int64_t kJsonSlack = 64;

// A step from an object to a member of it.
struct JsonStep;

class JsonPicker {
 public:
  // A path names the keys from the outside in, with dots between: "a.b" is the member b
  // of the member a, or a member of that name. Requires: the paths differ, and none
  // leads into another's value.
  explicit JsonPicker(const std::vector<std::string>& paths);
  ~JsonPicker();

  // Finds the values of one object, as they stand in its text; what is not there is
  // missing. DataLoss when the text is no JSON object, or has two values for one path.
  // Requires: as many values as paths, kJsonSlack bytes behind the text.
  absl::Status Pick(std::string_view text, absl::Span<JsonValue> values);

  // Calls with every member of one object, key and value, in order; keys are without
  // escapes. Requires: kJsonSlack bytes behind the text.
  absl::Status ForEachMember(
      std::string_view text,
      absl::FunctionRef<void(std::string_view key, const JsonValue& value)> visit);

 private:
  class Parser;

  const std::unique_ptr<JsonStep> root_;
  const std::unique_ptr<Parser> parser_;
};

// How far a path led.
struct JsonFound {
  // What is there; missing where the next step's member or item is not.
  JsonValue value;
  size_t steps = 0;  // How many steps lead to it: all of them, unless it is missing,
                     // null, or something that has no such members or items.
};

class JsonFinder {
 public:
  explicit JsonFinder(JsonPath path);
  ~JsonFinder();

  const JsonPath& path() const { return path_; }

  // Follows the path into a text. DataLoss when the text is no JSON, or has two values
  // for a key of the path. Requires: kJsonSlack bytes behind the text.
  absl::StatusOr<JsonFound> Find(std::string_view text);

 private:
  class Parser;

  const JsonPath path_;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace millrace::codec
