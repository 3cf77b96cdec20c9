// Quotes text for JSON, whatever bytes it holds.
#pragma once

#include <string>
#include <string_view>

namespace millrace::base {

// Prints a JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD, one
// each, so that the result is always valid.
std::string JsonText(std::string_view text);

}  // namespace millrace::base
