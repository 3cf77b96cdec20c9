#include "millrace/codec/json_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"

#include "millrace/base/utf8.h"

namespace millrace::codec {
namespace {

using Kind = JsonValue::Kind;

// Deeper than this nobody nests on purpose.
constexpr int kDepthMax = 1000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The size of the string that a text begins with, quotes included; npos where it does
// not end.
size_t StringSize(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return std::string_view::npos;
}

// The size of the object or array that a text begins with, by its brackets and quotes
// alone; npos where it does not end.
size_t ContainerSize(std::string_view text) {
  int64_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"': {
        const size_t size = StringSize(text.substr(i));
        if (size == std::string_view::npos) return size;
        i += size - 1;
        break;
      }
      case '[':
      case '{':
        ++depth;
        break;
      case ']':
      case '}':
        if (--depth == 0) return i + 1;
        break;
      default:
        break;
    }
  }
  return std::string_view::npos;
}

bool EndsWord(char c) { return c == ',' || c == ']' || c == '}' || IsJsonSpace(c); }

// The size of the value that a text begins with.
size_t ValueSize(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == '"') return StringSize(text);
  if (text[0] == '[' || text[0] == '{') return ContainerSize(text);
  size_t size = 0;
  while (size < text.size() && !EndsWord(text[size])) ++size;
  return size;
}

std::optional<uint32_t> ReadHex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  uint32_t code = 0;
  for (const char c : text.substr(0, 4)) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return std::nullopt;
    const int digit = IsDigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
    code = code << 4 | static_cast<uint32_t>(digit);
  }
  return code;
}

char* WriteUtf8(uint32_t code, char* out) {
  const auto put = [&](uint32_t byte) { *out++ = static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
  return out;
}

// Takes the rest of \uXXXX, and the second half where it is of a pair.
bool UnescapeCode(std::string_view& text, char*& out) {
  std::optional<uint32_t> code = ReadHex4(text);
  if (!code) return false;
  text.remove_prefix(4);
  if (*code >= 0xDC00 && *code < 0xE000) return false;
  if (*code >= 0xD800 && *code < 0xDC00) {
    if (!text.starts_with("\\u")) return false;
    const std::optional<uint32_t> low = ReadHex4(text.substr(2));
    if (!low || *low < 0xDC00 || *low >= 0xE000) return false;
    text.remove_prefix(6);
    code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
  }
  out = WriteUtf8(*code, out);
  return true;
}

// Takes one escape, which the text begins with.
bool UnescapeOne(std::string_view& text, char*& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (text.size() < 2) return false;
  const char name = text[1];
  text.remove_prefix(2);
  if (name == 'u') return UnescapeCode(text, out);
  const size_t place = kNames.find(name);
  if (place == std::string_view::npos) return false;
  *out++ = kMeanings[place];
  return true;
}

// Goes through a text as the grammar says, until something does not fit.
class FlawFinder {
 public:
  explicit FlawFinder(std::string_view text) : text_(text) {}

  std::optional<JsonFlaw> Find() {
    if (Value(0)) {
      SkipSpaces();
      if (at_ < text_.size()) Fail("something behind its end");
    }
    return std::move(flaw_);
  }

 private:
  bool Fail(std::string_view what) {
    if (at_ >= text_.size()) what = "its end, too early";
    flaw_ = JsonFlaw{.at = std::min(at_, text_.size()), .what = std::string(what)};
    return false;
  }

  void SkipSpaces() {
    while (at_ < text_.size() && IsJsonSpace(text_[at_])) ++at_;
  }

  // Passes over spaces and this character, if it comes.
  bool Take(char c) {
    SkipSpaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool Value(int depth) {
    SkipSpaces();
    if (at_ == text_.size()) return Fail("");
    if (depth > kDepthMax) return Fail("too many brackets inside each other");
    switch (text_[at_]) {
      case '{':
        return Members(depth);
      case '[':
        return Items(depth);
      case '"':
        return String();
      default:
        return Word();
    }
  }

  bool Members(int depth) {
    ++at_;
    if (Take('}')) return true;
    do {
      SkipSpaces();
      if (at_ == text_.size() || text_[at_] != '"') return Fail("no key in quotes");
      if (!String()) return false;
      if (!Take(':')) return Fail("no colon behind a key");
      if (!Value(depth + 1)) return false;
    } while (Take(','));
    return Take('}') || Fail("neither a comma nor a closing brace");
  }

  bool Items(int depth) {
    ++at_;
    if (Take(']')) return true;
    do {
      if (!Value(depth + 1)) return false;
    } while (Take(','));
    return Take(']') || Fail("neither a comma nor a closing bracket");
  }

  bool String() {
    const size_t begin = at_;
    const size_t size = StringSize(text_.substr(begin));
    if (size == std::string_view::npos) {
      at_ = text_.size();
      return Fail("");
    }
    const std::string_view inner = text_.substr(begin + 1, size - 2);
    const auto* const control = std::ranges::find_if(
        inner, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (control != inner.end()) {
      at_ = begin + 1 + (control - inner.begin());
      return Fail("a control character in a string");
    }
    std::string room(inner.size(), '\0');
    if (!UnescapeJson(inner, room.data())) return Fail("a string with a wrong escape");
    at_ += size;
    return true;
  }

  bool Word() {
    constexpr std::array<std::string_view, 3> kWords = {"true", "false", "null"};
    const std::string_view word = text_.substr(at_, ValueSize(text_.substr(at_)));
    if (std::ranges::find(kWords, word) == kWords.end() && !IsJsonNumber(word)) {
      return Fail("no value");
    }
    at_ += word.size();
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::optional<JsonFlaw> flaw_;
};

}  // namespace

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kMissing:
      return "nothing";
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "a bool";
    case Kind::kNumber:
      return "a number";
    case Kind::kString:
      return "a string";
    case Kind::kArray:
      return "an array";
    case Kind::kObject:
      return "an object";
    case Kind::kWrong:
      break;
  }
  return "no value";
}

std::string_view WithoutMark(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

bool IsJsonNumber(std::string_view text) {
  if (text == "NaN") return true;
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text == "Infinity") return true;
  const auto take_digits = [&] {
    const std::string_view all = text;
    while (!text.empty() && IsDigit(text[0])) text.remove_prefix(1);
    return all.size() - text.size();
  };
  const bool zero_first = text.starts_with('0');
  const size_t whole = take_digits();
  if (whole == 0 || (zero_first && whole > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (take_digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (take_digits() == 0) return false;
  }
  return text.empty();
}

std::optional<size_t> UnescapeJson(std::string_view text, char* out) {
  char* const begin = out;
  while (true) {
    const size_t plain = std::min(text.find('\\'), text.size());
    if (plain > 0) std::memmove(out, text.data(), plain);
    out += plain;
    text.remove_prefix(plain);
    if (text.empty()) return static_cast<size_t>(out - begin);
    if (!UnescapeOne(text, out)) return std::nullopt;
  }
}

bool JsonItems::Next(JsonValue& item) {
  if (!ok_) return false;
  const auto skip = [&] {
    while (!rest_.empty() && IsJsonSpace(rest_[0])) rest_.remove_prefix(1);
  };
  skip();
  if (rest_.empty()) return Fail();
  if (rest_[0] == ']' && (first_ || rest_.size() == 1)) {
    ok_ = rest_.size() == 1;
    return false;
  }
  const size_t size = ValueSize(rest_);
  if (size == 0 || size == std::string_view::npos) return Fail();
  item = JsonValueOf(rest_.substr(0, size));
  rest_.remove_prefix(size);
  first_ = false;
  skip();
  if (rest_.starts_with(',')) {
    rest_.remove_prefix(1);
    skip();
    return !rest_.starts_with(']') || Fail();
  }
  return rest_.starts_with(']') || Fail();
}

std::optional<JsonFlaw> FindJsonFlaw(std::string_view text) {
  const size_t valid = base::ValidUtf8Size(text);
  if (valid < text.size()) return JsonFlaw{.at = valid, .what = "no valid UTF-8"};
  return FlawFinder(text).Find();
}

}  // namespace millrace::codec
