// Described structs as JSON, both ways, by reflection: a struct says what its members
// are (BOOST_DESCRIBE_STRUCT), and no code is written for each. Members may be bool,
// integers, double, text, optionals, lists, and described structs. Pure.
//
//   struct Span { int64_t begin = 0; int64_t end = 0; };
//   BOOST_DESCRIBE_STRUCT(Span, (), (begin, end))
//   std::string text = ToJson(Span{1, 2});             // {"begin":1,"end":2}
//   Span span = TRY(FromJson<Span>(text));
//
// Reading is for what came from elsewhere: members that are not known are passed over,
// missing ones keep their defaults, a wrong type is an error that names the member.
#pragma once

#include <concepts>
#include <cstdint>
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

#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::api {

template <typename T>
concept Described = boost::describe::has_describe_members<T>::value;

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
using Members = boost::describe::describe_members<T, boost::describe::mod_public>;

absl::Status WrongKind(const boost::json::value& value, std::string_view wanted);

template <typename T>
boost::json::value Write(const T& from) {
  if constexpr (Described<T>) {
    boost::json::object object;
    boost::mp11::mp_for_each<Members<T>>(
        [&](auto member) { object.emplace(member.name, Write(from.*member.pointer)); });
    return object;
  } else if constexpr (kIsList<T>) {
    boost::json::array array;
    array.reserve(from.size());
    for (const auto& item : from) array.push_back(Write(item));
    return array;
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
    return error ? WrongKind(from, "a number") : absl::OkStatus();
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

}  // namespace millrace::api
