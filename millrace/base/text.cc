#include "millrace/base/text.h"

#include <array>
#include <charconv>
#include <string>

namespace millrace::base {

std::string ShortestText(double number) {
  std::array<char, 32> text = {};  // The longest is "-2.2250738585072014e-308".
  const auto result = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), result.ptr};
}

}  // namespace millrace::base
