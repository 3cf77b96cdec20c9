// What an operator or kernel accepts as arguments: names, types, defaults, ranges and
// what each means. Checking, parsing, help, reference pages and the Python signatures
// all come from here. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/ir/value.h"

namespace millrace::ir {

enum class ArgumentType : uint8_t {
  kBool,
  kInt,
  kFloat,  // An integer will do.
  kText,
  kInts,
  kFloats,
  kTexts,
  kRowFunction,    // From a row to a row: named results.
  kValueFunction,  // From a row to one value.
  kAttachment,
  kAttachments,
};

// "an integer", "a list of texts": for messages.
std::string_view Describe(ArgumentType type);

struct ArgumentSchema {
  std::string name;
  ArgumentType type = ArgumentType::kInt;
  std::string doc;
  std::optional<Value> default_value = {};  // Must be given when there is none.
  bool none_allowed = false;
  std::optional<int64_t> least = {};  // Of integers and of each integer in a list.
  std::optional<int64_t> most = {};
  std::vector<std::string> choices = {};  // Of texts; any when empty.
  bool is_seed = false;  // Matters only where something is drawn (fingerprints).
  bool is_batch_size =
      false;              // Does not change which rows there are (row fingerprints).
  bool is_place = false;  // Says where results are kept: never counts (fingerprints).
};

// Checks what was given, fills in defaults, and puts all in the schema's order. Errors
// name the argument, what is wrong with it, and the nearest name when it is unknown.
absl::StatusOr<Arguments> CheckArguments(absl::Span<const ArgumentSchema> schema,
                                         const Arguments& given);

// Finds the name that was probably meant: " (did you mean batch?)"; empty when none is
// near.
std::string Suggestion(std::string_view wrong, absl::Span<const std::string> names);

}  // namespace millrace::ir
