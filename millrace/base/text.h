// Joins text of both kinds of view. Debian's Abseil has a string_view of its own that
// does not convert to or from std::string_view; the project's interfaces use the
// standard one, and this is the bridge. Costs nothing but the joined string.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace millrace::base {

// Views the same characters as Abseil's type.
inline absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

// Views the same characters as the standard type.
inline std::string_view ToStd(absl::string_view text) {
  return {text.data(), text.size()};
}

// Passes a piece of text or a number on in a form that Abseil takes.
template <typename T>
decltype(auto) ForAbsl(const T& piece) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return ToAbsl(piece);
  } else {
    return piece;
  }
}

// Joins text and numbers, as absl::StrCat does, and takes std::string_view as well.
template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  return absl::StrCat(ForAbsl(pieces)...);
}

// Prints the shortest decimal text that reads back as the same number.
std::string ShortestText(double number);

}  // namespace millrace::base
