// Prints and reads bytes as lower-case hexadecimal digits, two to a byte. For the types
// whose text form this is: hashes and digests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace millrace::base {

// Prints two digits for each byte.
std::string ToHex(std::span<const uint8_t> bytes);

// Reads exactly as many bytes as there is room for; says whether `text` was just that.
bool ParseHex(std::string_view text, std::span<uint8_t> bytes);

}  // namespace millrace::base
