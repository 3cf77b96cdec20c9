// Reads numbers from texts, quickly. All of the text must be the number: no spaces, no
// plus. Pure; the result is the nearest that the type has, on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::codec {

enum class NumberRead : uint8_t {
  kDone,
  kNoNumber,
  kOutOfRange,
};

// A whole number: digits, perhaps with a minus.
NumberRead ReadInteger(std::string_view text, int64_t* number);
NumberRead ReadInteger(std::string_view text, uint64_t* number);

// Any number, also with an exponent; nan, inf and infinity in any case of letters. What
// is too small to be told from zero is zero.
NumberRead ReadFloat(std::string_view text, double* number);

}  // namespace millrace::codec
