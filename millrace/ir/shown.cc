#include "millrace/ir/shown.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

#include "millrace/base/text.h"
#include "millrace/base/utf8.h"

namespace millrace::ir {
namespace {

constexpr size_t kShownBytesMax = 64;

// Cuts a long text, but not inside a character.
std::string_view Beginning(std::string_view text) {
  if (text.size() <= kShownBytesMax) return text;
  const std::string_view cut = text.substr(0, kShownBytesMax);
  const size_t valid = base::ValidUtf8Size(cut);
  return cut.size() - valid < 4 ? cut.substr(0, valid) : cut;
}

}  // namespace

std::string Shown(std::string_view text) {
  const std::string_view beginning = Beginning(text);
  const absl::string_view raw = base::ToAbsl(beginning);
  return base::StrCat(
      base::IsUtf8(beginning) ? absl::Utf8SafeCEscape(raw) : absl::CHexEscape(raw),
      beginning.size() < text.size() ? "..." : "");
}

std::string Quoted(std::string_view text) {
  return base::StrCat("\"", Shown(text), "\"");
}

}  // namespace millrace::ir
