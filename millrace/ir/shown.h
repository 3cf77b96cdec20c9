// How a piece of the user's text stands in an error message: on one line, readable, and
// not long, whatever bytes it has and however many.
#pragma once

#include <string>
#include <string_view>

namespace millrace::ir {

// Gives the text with what is not printable escaped; of a long one, the beginning.
std::string Shown(std::string_view text);

// The same in quotes, for texts that may be empty or have spaces.
std::string Quoted(std::string_view text);

}  // namespace millrace::ir
