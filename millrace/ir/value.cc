#include "millrace/ir/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "millrace/base/check.h"
#include "millrace/ir/expression.h"

namespace millrace::ir {

std::string_view Value::KindName() const {
  static constexpr std::array<std::string_view, 8> kNames = {
      "none",   "a bool", "an integer",    "a float",
      "a text", "a list", "an attachment", "an expression"};
  static_assert(std::variant_size_v<Data> == kNames.size());
  return kNames[data_.index()];
}

bool operator==(const Value& a, const Value& b) {
  if (const auto* function = a.If<Function>(); function != nullptr) {
    const auto* other = b.If<Function>();
    return other != nullptr && **function == **other;
  }
  // Bit for bit, as they are hashed: -0.0 is not 0.0, and NaN is itself.
  const auto* number = a.If<double>();
  const auto* other = b.If<double>();
  if (number != nullptr && other != nullptr) {
    return std::bit_cast<uint64_t>(*number) == std::bit_cast<uint64_t>(*other);
  }
  return a.data_ == b.data_;
}

const Value* Arguments::Find(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &Argument::name);
  return found == all_.end() ? nullptr : &found->value;
}

const Value& Arguments::operator[](std::string_view name) const {
  const Value* value = Find(name);
  CHECK(value != nullptr) << "no argument " << std::string(name);
  return *value;
}

void Arguments::Set(std::string_view name, Value value) {
  const auto found = std::ranges::find(all_, name, &Argument::name);
  if (found == all_.end()) {
    all_.push_back({std::string(name), std::move(value)});
  } else {
    found->value = std::move(value);
  }
}

}  // namespace millrace::ir
