// Tells valid UTF-8 from other bytes. Pure; a pass over the text.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::base {

// Gives the place of the first byte that belongs to no character, the text's size when
// all do. Overlong forms, surrogates and numbers beyond U+10FFFF are no characters.
size_t ValidUtf8Size(std::string_view text);

// Tells whether all of a text is valid.
inline bool IsUtf8(std::string_view text) { return ValidUtf8Size(text) == text.size(); }

}  // namespace millrace::base
