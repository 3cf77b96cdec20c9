// For fuzz targets: an input whose first line is an argument, and the rest a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::kernels {

struct FirstLine {
  std::string line;
  std::string rest;

  // Nothing where there is no end of a line.
  static std::optional<FirstLine> Of(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const size_t end = input.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    return FirstLine{.line = std::string(input.substr(0, end)),
                     .rest = std::string(input.substr(end + 1))};
  }
};

}  // namespace millrace::kernels
