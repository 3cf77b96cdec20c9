// JSON as it stands in a text: what kind of value it is, what is in a string, which
// items an array has, and where a text stops being JSON. Finding values in a long text
// is done elsewhere (json.h); here every function goes over what it is given, byte by
// byte. Pure. Numbers may also be NaN, Infinity and -Infinity, as Python writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::codec {

struct JsonValue {
  enum class Kind : uint8_t {
    kMissing,
    kNull,
    kBool,
    kNumber,  // As it begins; whether it is one is found out by who reads it.
    kString,
    kArray,
    kObject,
    kWrong,  // Begins like nothing there is.
  };

  Kind kind = Kind::kMissing;
  std::string_view text = {};  // Of a string, what is between its quotes.

  friend bool operator==(const JsonValue&, const JsonValue&) = default;
};

// "a string", "an array".
std::string_view Name(JsonValue::Kind kind);

// Tells what kind of value a text is, by its ends alone.
inline JsonValue::Kind JsonKindOf(std::string_view text) {
  using Kind = JsonValue::Kind;
  if (text.empty()) return Kind::kWrong;
  const auto ends_with = [&](char end) {
    return text.size() > 1 && text.back() == end;
  };
  switch (text[0]) {
    case '"':
      return ends_with('"') ? Kind::kString : Kind::kWrong;
    case '[':
      return ends_with(']') ? Kind::kArray : Kind::kWrong;
    case '{':
      return ends_with('}') ? Kind::kObject : Kind::kWrong;
    case 't':
      return text == "true" ? Kind::kBool : Kind::kWrong;
    case 'f':
      return text == "false" ? Kind::kBool : Kind::kWrong;
    case 'n':
      return text == "null" ? Kind::kNull : Kind::kWrong;
    case '-':
    case 'N':
    case 'I':
      return Kind::kNumber;
    default:
      return text[0] >= '0' && text[0] <= '9' ? Kind::kNumber : Kind::kWrong;
  }
}

// Tells what a value is by its text, without spaces around it.
inline JsonValue JsonValueOf(std::string_view text) {
  const JsonValue::Kind kind = JsonKindOf(text);
  if (kind == JsonValue::Kind::kString) text = text.substr(1, text.size() - 2);
  return {.kind = kind, .text = text};
}

inline bool IsJsonSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Takes off the spaces around a text, as JSON knows them.
inline std::string_view TrimJson(std::string_view text) {
  while (!text.empty() && IsJsonSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsJsonSpace(text.back())) text.remove_suffix(1);
  return text;
}

// The text without a mark of its encoding before it.
std::string_view WithoutMark(std::string_view text);

bool IsJsonNumber(std::string_view text);

// Writes what a string's text stands for, which is no longer than that. Gives its size;
// nothing where an escape is wrong or half a surrogate pair. `out` may be `text`
// itself.
std::optional<size_t> UnescapeJson(std::string_view text, char* out);

// The items of an array, one after another.
class JsonItems {
 public:
  // Requires: the text of an array, from bracket to bracket.
  explicit JsonItems(std::string_view array) : rest_(array.substr(1)) {}

  // Gives the next item; false at the end, and where that is no array after all.
  bool Next(JsonValue& item);

  // Tells, at the end, whether that was an array's.
  bool ok() const { return ok_; }

 private:
  bool Fail() { return ok_ = false; }

  std::string_view rest_;
  bool first_ = true;
  bool ok_ = true;
};

// What a text has that JSON does not have there.
struct JsonFlaw {
  size_t at = 0;  // The byte.
  std::string what;
};

// Finds the first flaw of a text that should be one JSON value; nothing where it is.
std::optional<JsonFlaw> FindJsonFlaw(std::string_view text);

}  // namespace millrace::codec
