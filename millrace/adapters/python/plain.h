// What crosses between the engine and Python, as plain values of the standard library.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::python {

// What went wrong: absl's code by name ("INVALID_ARGUMENT"), and the message for
// people.
class Error : public std::exception {
 public:
  Error(std::string code, std::string message)
      : code_(std::move(code)), message_(std::move(message)) {}

  const std::string& code() const { return code_; }

  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string code_;
  std::string message_;
};

// Sizes of axes, -1 where one is not known; nothing where not even their number is.
using Axes = std::optional<std::vector<int64_t>>;

struct FieldType {
  std::string name;
  std::string dtype;  // "uint8", "string".
  Axes shape;
  bool weak = false;  // Of terms: gives way to the types it meets.
};

// Memory that other processes can map: all of it, and where in it something begins.
struct SharedPlace {
  int descriptor = -1;  // -1: there is none.
  int64_t bytes = 0;
  int64_t offset = 0;
};

// Memory that was mapped from another process, and stays so while its owner lives.
struct Mapping {
  const void* data = nullptr;
  int64_t bytes = 0;
  std::shared_ptr<const void> owner = {};  // None: there is no such.
};

// Numbers in row-major order, kept alive by their owner.
struct Array {
  std::string dtype;
  std::vector<int64_t> shape = {};
  void* data = nullptr;
  std::shared_ptr<const void> owner = {};
  SharedPlace shared = {};
  Mapping mapping = {};  // That it is in.
  bool writable = true;
};

// Texts in row-major order.
struct Texts {
  bool is_string = true;  // Else bytes.
  std::vector<int64_t> shape = {};
  std::vector<std::string_view> texts = {};
  std::shared_ptr<const void> owner = {};
};

// Values of no one shape: those of all rows, and by axis where each begins; behind the
// last, where it ends. Axes of one size have no offsets but that size.
struct Ragged {
  std::variant<Array, Texts> values;
  std::vector<std::variant<int64_t, Array>> axes;
};

using FieldValue = std::variant<Array, Texts, Ragged>;

// A field's values for a run of rows: one array with the rows along its first axis, or
// each row's value.
using FieldColumn = std::variant<Array, std::vector<FieldValue>>;

// A value as Python gives it.
struct ByteString {
  std::string bytes;
};

struct TextList {
  bool is_string = true;
  std::vector<int64_t> shape = {};
  std::vector<std::string> texts = {};
};

using Plain =
    std::variant<bool, int64_t, double, std::string, ByteString, Array, TextList>;

class Attachment;
class Function;

// An argument of an operator or kernel.
struct Argument {
  std::variant<std::monostate, bool, int64_t, double, std::string,
               std::vector<Argument>, std::shared_ptr<const Attachment>,
               std::shared_ptr<const Function>>
      value;
};

using NamedArguments = std::vector<std::pair<std::string, Argument>>;

}  // namespace millrace::python
