// Arguments as plain data: what an operator or kernel is told besides its inputs, as it
// stands in the text form. Values compare by content.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/ir/attachment.h"

namespace millrace::ir {

class Expression;
class Value;

struct None {
  friend bool operator==(None, None) = default;
};

using List = std::vector<Value>;
using Function = std::shared_ptr<const Expression>;

class Value {
 public:
  using Data = std::variant<None, bool, int64_t, double, std::string, List, Attachment,
                            Function>;

  Value() = default;  // None.

  // Converts from any of the kinds, and from the C++ types that mean one of them.
  Value(bool value) : data_(value) {}

  Value(int value) : data_(int64_t{value}) {}

  Value(int64_t value) : data_(value) {}

  Value(double value) : data_(value) {}

  Value(const char* value) : data_(std::string(value)) {}

  Value(std::string value) : data_(std::move(value)) {}

  Value(List value) : data_(std::move(value)) {}

  Value(Attachment value) : data_(std::move(value)) {}

  Value(Function value) : data_(std::move(value)) {}

  template <typename T>
  const T* If() const {
    return std::get_if<T>(&data_);
  }

  // Requires: it holds a T.
  template <typename T>
  const T& As() const {
    const T* value = If<T>();
    CHECK(value != nullptr) << "argument is " << KindName();
    return *value;
  }

  bool is_none() const { return If<None>() != nullptr; }

  // "an integer", "a list": for messages.
  std::string_view KindName() const;

  friend bool operator==(const Value& a, const Value& b);

 private:
  Data data_;
};

struct Argument {
  std::string name;
  Value value;

  friend bool operator==(const Argument&, const Argument&) = default;
};

// The arguments of one node. Once checked against a schema they are complete and stand
// in its order.
class Arguments {
 public:
  Arguments() = default;

  Arguments(std::initializer_list<Argument> arguments) : all_(arguments) {}

  explicit Arguments(std::vector<Argument> arguments) : all_(std::move(arguments)) {}

  const std::vector<Argument>& all() const { return all_; }

  // Finds one by name; null when it is not there.
  const Value* Find(std::string_view name) const;

  // Requires: it is there.
  const Value& operator[](std::string_view name) const;

  void Set(std::string_view name, Value value);

  friend bool operator==(const Arguments&, const Arguments&) = default;

 private:
  std::vector<Argument> all_;
};

}  // namespace millrace::ir
