// Described structs as JSON, both ways, by reflection: a struct says what its members
// are (BOOST_DESCRIBE_STRUCT), and no code is written for each. Pure. Members may be
//
//   bool, integers, double, text, optionals, lists, described structs
//   std::map from text         an object
//   described enums            text: kAtMostOnce is "at_most_once"
//   ids, base::Bytes           a number
//   base::Hash128, Sha256      hexadecimal digits; of nothing but zeros, ""
//
//   struct Span { int64_t begin = 0; int64_t end = 0; };
//   BOOST_DESCRIBE_STRUCT(Span, (), (begin, end))
//   std::string text = ToJson(Span{1, 2});             // {"begin":1,"end":2}
//   Span span = TRY(FromJson<Span>(text));
//
// Reading is for what came from elsewhere: members that are not known are passed over,
// missing ones keep their defaults, a wrong type is an error that names the member.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/ids.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::api {

template <typename T>
concept Described = boost::describe::has_describe_members<T>::value;

template <typename T>
concept DescribedEnum = boost::describe::has_describe_enumerators<T>::value;

// Parses a text; deeper or longer than anything of ours is an error.
absl::StatusOr<boost::json::value> ParseJson(std::string_view text);

namespace json_internal {

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
inline constexpr bool kIsMap = false;
template <typename T>
inline constexpr bool kIsMap<std::map<std::string, T>> = true;

template <typename T>
concept Hash = std::same_as<T, base::Hash128> || std::same_as<T, base::Sha256>;

template <typename T>
using Members = boost::describe::describe_members<T, boost::describe::mod_public>;

template <typename T>
using Enumerators = boost::describe::describe_enumerators<T>;

absl::Status WrongKind(const boost::json::value& value, std::string_view wanted);

// As WrongKind, with all texts that would do.
absl::Status NotOneOf(const boost::json::value& value,
                      const std::vector<std::string>& texts);

// How an enumerator is written: kAtMostOnce as "at_most_once".
std::string EnumText(std::string_view name);

// The texts of an enum, in the order of its description.
template <DescribedEnum T>
std::vector<std::string> EnumTexts() {
  std::vector<std::string> texts;
  boost::mp11::mp_for_each<Enumerators<T>>(
      [&](auto enumerator) { texts.push_back(EnumText(enumerator.name)); });
  return texts;
}

template <typename T>
boost::json::value Write(const T& from);

template <Described T>
boost::json::object WriteMembers(const T& from) {
  boost::json::object object;
  boost::mp11::mp_for_each<Members<T>>(
      [&](auto member) { object.emplace(member.name, Write(from.*member.pointer)); });
  return object;
}

template <DescribedEnum T>
std::string WriteEnum(T from) {
  std::string text;
  boost::mp11::mp_for_each<Enumerators<T>>([&](auto enumerator) {
    if (enumerator.value == from) text = EnumText(enumerator.name);
  });
  CHECK(!text.empty()) << "not an enumerator: " << static_cast<int64_t>(from);
  return text;
}

template <typename T>
boost::json::value Write(const T& from) {
  if constexpr (Described<T>) {
    return WriteMembers(from);
  } else if constexpr (kIsList<T>) {
    boost::json::array array;
    array.reserve(from.size());
    for (const auto& item : from) array.push_back(Write(item));
    return array;
  } else if constexpr (kIsMap<T>) {
    boost::json::object object;
    for (const auto& [key, value] : from) object.emplace(key, Write(value));
    return object;
  } else if constexpr (DescribedEnum<T>) {
    return boost::json::value(WriteEnum(from));
  } else if constexpr (base::Id<T>) {
    return base::ToNumber(from);
  } else if constexpr (std::same_as<T, base::Bytes>) {
    return from.count();
  } else if constexpr (Hash<T>) {
    return boost::json::value(from == T{} ? "" : base::ToHex(from));
  } else if constexpr (kIsOptional<T>) {
    return from ? Write(*from) : boost::json::value(nullptr);
  } else {
    return boost::json::value(from);
  }
}

template <std::integral T>
absl::Status ReadInteger(const boost::json::value& from, T& to) {
  boost::system::error_code error;
  to = from.to_number<T>(error);
  return error ? WrongKind(from, "a whole number in range") : absl::OkStatus();
}

template <typename T>
absl::Status Read(const boost::json::value& from, T& to);

template <Described T>
absl::Status ReadMembers(const boost::json::value& from, T& to) {
  const boost::json::object* const object = from.if_object();
  if (object == nullptr) return WrongKind(from, "an object");
  absl::Status status;
  boost::mp11::mp_for_each<Members<T>>([&](auto member) {
    const boost::json::value* const value = object->if_contains(member.name);
    if (value == nullptr || !status.ok()) return;
    status = base::Annotate(Read(*value, to.*member.pointer), member.name);
  });
  return status;
}

template <typename T>
absl::Status ReadItems(const boost::json::value& from, std::vector<T>& to) {
  const boost::json::array* const array = from.if_array();
  if (array == nullptr) return WrongKind(from, "a list");
  to.clear();
  for (const boost::json::value& value : *array) {
    T item = {};
    TRY(base::Annotate(Read(value, item), base::StrCat("item ", to.size())));
    to.push_back(std::move(item));
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status ReadMap(const boost::json::value& from, std::map<std::string, T>& to) {
  const boost::json::object* const object = from.if_object();
  if (object == nullptr) return WrongKind(from, "an object");
  to.clear();
  for (const auto& member : *object) {
    const std::string_view key = member.key();
    TRY(base::Annotate(Read(member.value(), to[std::string(key)]), key));
  }
  return absl::OkStatus();
}

template <DescribedEnum T>
absl::Status ReadEnum(const boost::json::value& from, T& to) {
  bool found = false;
  if (const boost::json::string* const text = from.if_string()) {
    boost::mp11::mp_for_each<Enumerators<T>>([&](auto enumerator) {
      if (EnumText(enumerator.name) != std::string_view(*text)) return;
      to = enumerator.value;
      found = true;
    });
  }
  return found ? absl::OkStatus() : NotOneOf(from, EnumTexts<T>());
}

template <typename T>
absl::Status ReadNumber(const boost::json::value& from, T& to) {
  int64_t number = 0;
  TRY(ReadInteger(from, number));
  to = static_cast<T>(number);
  return absl::OkStatus();
}

absl::Status ReadHash(const boost::json::value& from, base::Hash128& to);
absl::Status ReadHash(const boost::json::value& from, base::Sha256& to);

template <typename T>
absl::Status ReadOptional(const boost::json::value& from, std::optional<T>& to) {
  to.reset();
  if (from.is_null()) return absl::OkStatus();
  return Read(from, to.emplace());
}

template <typename T>
absl::Status Read(const boost::json::value& from, T& to) {
  if constexpr (Described<T>) {
    return ReadMembers(from, to);
  } else if constexpr (kIsList<T>) {
    return ReadItems(from, to);
  } else if constexpr (kIsOptional<T>) {
    return ReadOptional(from, to);
  } else if constexpr (kIsMap<T>) {
    return ReadMap(from, to);
  } else if constexpr (DescribedEnum<T>) {
    return ReadEnum(from, to);
  } else if constexpr (base::Id<T> || std::same_as<T, base::Bytes>) {
    return ReadNumber(from, to);
  } else if constexpr (Hash<T>) {
    return ReadHash(from, to);
  } else if constexpr (std::same_as<T, bool>) {
    if (!from.is_bool()) return WrongKind(from, "true or false");
    to = from.get_bool();
    return absl::OkStatus();
  } else if constexpr (std::same_as<T, std::string>) {
    if (!from.is_string()) return WrongKind(from, "a text");
    to = std::string_view(from.get_string());
    return absl::OkStatus();
  } else if constexpr (std::same_as<T, double>) {
    boost::system::error_code error;
    to = from.to_number<double>(error);
    if (error) return WrongKind(from, "a number");
    return std::isfinite(to) ? absl::OkStatus() : WrongKind(from, "a finite number");
  } else {
    return ReadInteger(from, to);
  }
}

}  // namespace json_internal

template <Described T>
std::string ToJson(const T& value) {
  return boost::json::serialize(json_internal::Write(value));
}

template <Described T>
absl::StatusOr<T> FromJson(std::string_view text) {
  const boost::json::value parsed = TRY(ParseJson(text));
  T value = {};
  TRY(json_internal::Read(parsed, value));
  return value;
}

// Where two structs differ, with both values as JSON.
struct Difference {
  std::string member;
  std::string one;
  std::string other;
};

// Finds the first member in which they do; nothing: in none.
template <Described T>
std::optional<Difference> FirstDifference(const T& one, const T& other) {
  std::optional<Difference> difference;
  boost::mp11::mp_for_each<json_internal::Members<T>>([&](auto member) {
    const auto& a = one.*member.pointer;
    const auto& b = other.*member.pointer;
    if (difference || a == b) return;
    difference =
        Difference{member.name, boost::json::serialize(json_internal::Write(a)),
                   boost::json::serialize(json_internal::Write(b))};
  });
  return difference;
}

}  // namespace millrace::api
