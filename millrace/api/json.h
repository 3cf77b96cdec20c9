// Described structs as JSON, both ways, by reflection: a struct says what its members
// are (BOOST_DESCRIBE_STRUCT), and no code is written for each. Pure. Members may be
//
//   bool, integers, double, text, lists, described structs
//   optionals                  of nothing, not written where they are members
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

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
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
// The memory of the value may be given.
absl::StatusOr<boost::json::value> ParseJson(std::string_view text,
                                             boost::json::storage_ptr memory = {});

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

void WriteText(std::string& json, std::string_view from);
void WriteDouble(std::string& json, double from);

// Appends it: straight to text, as heads of many small batches are written so.
template <typename T>
void Write(std::string& json, const T& from);

// What is not there is not written: heads of batches have several members of which only
// one is.
template <Described T>
void WriteMembers(std::string& json, const T& from) {
  char before = '{';
  boost::mp11::mp_for_each<Members<T>>([&](auto member) {
    const auto& value = from.*member.pointer;
    if constexpr (kIsOptional<std::decay_t<decltype(value)>>) {
      if (!value) return;
    }
    static const std::string name = base::StrCat("\"", member.name, "\":");
    json += before;
    json += name;
    Write(json, value);
    before = ',';
  });
  json += before == '{' ? "{}" : "}";
}

template <typename T>
void WriteItems(std::string& json, const std::vector<T>& from) {
  json += '[';
  for (const auto& item : from) {
    if (json.back() != '[') json += ',';
    Write(json, item);
  }
  json += ']';
}

template <typename T>
void WriteMap(std::string& json, const std::map<std::string, T>& from) {
  json += '{';
  for (const auto& [key, value] : from) {
    if (json.back() != '{') json += ',';
    WriteText(json, key);
    json += ':';
    Write(json, value);
  }
  json += '}';
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
void Write(std::string& json, const T& from) {
  if constexpr (Described<T>) {
    WriteMembers(json, from);
  } else if constexpr (kIsList<T>) {
    WriteItems(json, from);
  } else if constexpr (kIsMap<T>) {
    WriteMap(json, from);
  } else if constexpr (DescribedEnum<T>) {
    WriteText(json, WriteEnum(from));
  } else if constexpr (base::Id<T>) {
    Write(json, base::ToNumber(from));
  } else if constexpr (std::same_as<T, base::Bytes>) {
    Write(json, from.count());
  } else if constexpr (Hash<T>) {
    WriteText(json, from == T{} ? "" : base::ToHex(from));
  } else if constexpr (kIsOptional<T>) {
    if (from) {
      Write(json, *from);
    } else {
      json += "null";
    }
  } else if constexpr (std::same_as<T, bool>) {
    json += from ? "true" : "false";
  } else if constexpr (std::same_as<T, double>) {
    WriteDouble(json, from);
  } else if constexpr (std::integral<T>) {
    json += std::to_string(from);
  } else {
    WriteText(json, from);
  }
}

// As a value of its own.
template <typename T>
std::string Written(const T& from) {
  std::string json;
  Write(json, from);
  return json;
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
  auto next = object->begin();  // Most come in the order in which they are described.
  boost::mp11::mp_for_each<Members<T>>([&](auto member) {
    const boost::json::value* value = nullptr;
    if (next != object->end() && next->key() == member.name) {
      value = &(next++)->value();
    } else {
      value = object->if_contains(member.name);
    }
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
  constexpr size_t kMostBytes = 512;
  std::string json;
  json.reserve(kMostBytes);
  json_internal::Write(json, value);
  return json;
}

template <Described T>
absl::StatusOr<T> FromJson(std::string_view text) {
  // What is small is parsed without the heap.
  std::array<unsigned char, 4096> room;
  boost::json::monotonic_resource memory(room.data(), room.size());
  const boost::json::value parsed = TRY(ParseJson(text, &memory));
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
        Difference{member.name, json_internal::Written(a), json_internal::Written(b)};
  });
  return difference;
}

}  // namespace millrace::api
