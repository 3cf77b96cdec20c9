#include "millrace/base/json_text.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"

#include "millrace/base/utf8.h"

namespace millrace::base {
namespace {

// Escapes what JSON reserves; bytes of longer characters stay as they are.
std::string Escaped(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      break;
  }
  const bool control = static_cast<uint8_t>(c) < 0x20 || c == 0x7F;
  return control ? absl::StrFormat("\\u%04x", c) : std::string(1, c);
}

}  // namespace

std::string JsonText(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const size_t valid = ValidUtf8Size(text);
    for (const char c : text.substr(0, valid)) quoted += Escaped(c);
    text.remove_prefix(valid);
    if (text.empty()) break;
    quoted += "\\ufffd";
    text.remove_prefix(1);
  }
  return quoted + "\"";
}

}  // namespace millrace::base
