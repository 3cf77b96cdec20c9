// Ids are types: `enum class WorkerId : int64_t {};` cannot be mixed up with a LaneId
// or with a count. These are the few verbs all of them share. absl::Hash, containers
// and comparison work on such an enum as it is. Values; costs what an int64_t costs.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"

#include "millrace/base/check.h"

namespace millrace::base {

// A scoped enum over int64_t.
template <typename T>
concept Id = std::is_enum_v<T> && !std::convertible_to<T, int64_t> &&
             std::same_as<std::underlying_type_t<T>, int64_t>;

// Makes the id with this number.
template <Id T>
constexpr T MakeId(int64_t number) {
  return static_cast<T>(number);
}

// Returns the number of an id, to print, store or send it.
constexpr int64_t ToNumber(Id auto id) { return static_cast<int64_t>(id); }

// Returns the id after this one. Requires: there is one.
template <Id T>
constexpr T Next(T id) {
  CHECK_LT(ToNumber(id), std::numeric_limits<int64_t>::max());
  return MakeId<T>(ToNumber(id) + 1);
}

// Prints the number of an id.
std::string ToString(Id auto id) { return absl::StrCat(ToNumber(id)); }

}  // namespace millrace::base
