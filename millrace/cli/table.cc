#include "millrace/cli/table.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::cli {
namespace {

constexpr size_t kGap = 2;

// Whether a byte of UTF-8 begins a character.
bool Begins(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

// Commands to a terminal beyond ASCII, as one byte or behind a C2.
bool IsHighCommand(unsigned char byte) { return byte >= 0x80U && byte < 0xA0U; }

std::string Padded(const std::string& text, size_t width, Align align) {
  const std::string room(width - WidthOf(text), ' ');
  return align == Align::kRight ? room + text : text + room;
}

}  // namespace

std::string Harmless(std::string_view text) {
  std::string shown;
  bool in_character = false;  // Of several bytes.
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_long_command = byte == 0xC2U && IsHighCommand(next);
    const bool is_command = byte < 0x20U || byte == 0x7FU || is_long_command ||
                            (IsHighCommand(byte) && !in_character);
    const size_t bytes = is_long_command ? 2 : 1;
    const std::string_view piece = text.substr(i, bytes);
    shown += is_command ? absl::CEscape(base::ToAbsl(piece)) : std::string(piece);
    in_character = byte >= 0x80U && !is_command;
    i += bytes - 1;
  }
  return shown;
}

size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, Begins));
}

std::string Shortened(std::string_view text, size_t width) {
  size_t shown = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (Begins(text[end]) && ++shown > width) break;
  }
  return std::string(text.substr(0, end));
}

void Table::Add(std::vector<std::string> cells) {
  CHECK_EQ(cells.size(), columns_.size());
  for (std::string& cell : cells) cell = Harmless(cell);
  lines_.push_back(std::move(cells));
}

std::string Table::Text() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = WidthOf(columns_[i].title);
    for (const auto& line : lines_) width = std::max(width, WidthOf(line[i]));
    widths.push_back(width);
  }
  std::string text;
  const auto add = [&](const auto& cell_of) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      line += Padded(cell_of(i), widths[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add([&](size_t i) { return columns_[i].title; });
  for (const auto& line : lines_) add([&](size_t i) { return line[i]; });
  return text;
}

}  // namespace millrace::cli
