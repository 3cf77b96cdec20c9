#include "millrace/ir/argument_schema.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

absl::Status Wrong(const ArgumentSchema& schema, std::string_view what) {
  return absl::InvalidArgumentError(base::StrCat("argument ", schema.name, " ", what));
}

absl::Status WrongType(const ArgumentSchema& schema, const Value& value) {
  return Wrong(schema, base::StrCat("must be ", Describe(schema.type), ", not ",
                                    value.KindName()));
}

// The same of the argument itself or, when `type` is another, of an item in its list.
absl::Status WrongType(const ArgumentSchema& schema, ArgumentType type,
                       const Value& value) {
  if (type == schema.type) return WrongType(schema, value);
  return Wrong(schema, base::StrCat("must be ", Describe(schema.type), "; it holds ",
                                    value.KindName()));
}

absl::Status CheckRange(const ArgumentSchema& schema, int64_t value) {
  if (schema.least && value < *schema.least) {
    return Wrong(schema,
                 base::StrCat("must be at least ", *schema.least, ", not ", value));
  }
  if (schema.most && value > *schema.most) {
    return Wrong(schema,
                 base::StrCat("must be at most ", *schema.most, ", not ", value));
  }
  return absl::OkStatus();
}

absl::Status CheckChoice(const ArgumentSchema& schema, const std::string& value) {
  if (schema.choices.empty() || std::ranges::count(schema.choices, value) > 0) {
    return absl::OkStatus();
  }
  return Wrong(schema,
               base::StrCat("must be one of ", absl::StrJoin(schema.choices, ", "),
                            ", not ", Shown(value)));
}

// One bit pattern for all NaNs, so that equal text is equal content.
double WithOneNan(double number) {
  return std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
}

// The type of the items of a list argument.
std::optional<ArgumentType> ItemType(ArgumentType type) {
  switch (type) {
    case ArgumentType::kInts:
      return ArgumentType::kInt;
    case ArgumentType::kFloats:
      return ArgumentType::kFloat;
    case ArgumentType::kTexts:
      return ArgumentType::kText;
    case ArgumentType::kAttachments:
      return ArgumentType::kAttachment;
    default:
      return std::nullopt;
  }
}

absl::StatusOr<Value> CheckFunction(const ArgumentSchema& schema, const Value& value) {
  const auto* function = value.If<Function>();
  if (function == nullptr || *function == nullptr) return WrongType(schema, value);
  const Expression& expression = **function;
  const bool named = expression.gives_row();
  if (schema.type == ArgumentType::kRowFunction && !named) {
    return Wrong(schema, "must name its results, as in {name: value}");
  }
  if (schema.type == ArgumentType::kValueFunction && named) {
    return Wrong(schema, "must give one value without a name");
  }
  return value;
}

absl::StatusOr<Value> CheckScalar(const ArgumentSchema& schema, ArgumentType type,
                                  const Value& value) {
  switch (type) {
    case ArgumentType::kBool:
      if (value.If<bool>() == nullptr) return WrongType(schema, type, value);
      return value;
    case ArgumentType::kInt:
      if (value.If<int64_t>() == nullptr) return WrongType(schema, type, value);
      TRY(CheckRange(schema, value.As<int64_t>()));
      return value;
    case ArgumentType::kFloat:
      if (const auto* number = value.If<int64_t>(); number != nullptr) {
        return Value(static_cast<double>(*number));
      }
      if (value.If<double>() == nullptr) return WrongType(schema, type, value);
      return Value(WithOneNan(value.As<double>()));
    case ArgumentType::kText:
      if (value.If<std::string>() == nullptr) return WrongType(schema, type, value);
      TRY(CheckChoice(schema, value.As<std::string>()));
      return value;
    case ArgumentType::kAttachment:
      if (value.If<Attachment>() == nullptr) return WrongType(schema, type, value);
      return value;
    default:
      return CheckFunction(schema, value);
  }
}

absl::StatusOr<Value> CheckValue(const ArgumentSchema& schema, const Value& value) {
  if (value.is_none()) {
    if (schema.none_allowed) return value;
    return WrongType(schema, value);
  }
  const std::optional<ArgumentType> item_type = ItemType(schema.type);
  if (!item_type) return CheckScalar(schema, schema.type, value);
  const List* items = value.If<List>();
  if (items == nullptr) return WrongType(schema, value);
  List checked;
  for (const Value& item : *items) {
    checked.push_back(TRY(CheckScalar(schema, *item_type, item)));
  }
  return Value(std::move(checked));
}

absl::Status CheckNames(absl::Span<const ArgumentSchema> schema,
                        const Arguments& given) {
  std::vector<std::string> known;
  for (const ArgumentSchema& argument : schema) known.push_back(argument.name);
  for (const Argument& argument : given.all()) {
    if (std::ranges::count(known, argument.name) == 0) {
      return absl::InvalidArgumentError(base::StrCat(
          "there is no argument ", Shown(argument.name),
          Suggestion(argument.name, known),
          "; arguments are: ", known.empty() ? "none" : absl::StrJoin(known, ", ")));
    }
    if (std::ranges::count(given.all(), argument.name, &Argument::name) > 1) {
      return absl::InvalidArgumentError(
          base::StrCat("argument ", argument.name, " is given twice"));
    }
  }
  return absl::OkStatus();
}

// The number of letters to change, add or remove.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

std::string_view Describe(ArgumentType type) {
  switch (type) {
    case ArgumentType::kBool:
      return "a bool";
    case ArgumentType::kInt:
      return "an integer";
    case ArgumentType::kFloat:
      return "a float";
    case ArgumentType::kText:
      return "a text";
    case ArgumentType::kInts:
      return "a list of integers";
    case ArgumentType::kFloats:
      return "a list of floats";
    case ArgumentType::kTexts:
      return "a list of texts";
    case ArgumentType::kRowFunction:
      return "an expression with named results";
    case ArgumentType::kValueFunction:
      return "an expression";
    case ArgumentType::kAttachment:
      return "an attachment";
    case ArgumentType::kAttachments:
      return "a list of attachments";
  }
  return "unknown";
}

absl::StatusOr<Arguments> CheckArguments(absl::Span<const ArgumentSchema> schema,
                                         const Arguments& given) {
  TRY(CheckNames(schema, given));
  std::vector<Argument> checked;
  for (const ArgumentSchema& argument : schema) {
    const Value* value = given.Find(argument.name);
    if (value == nullptr && !argument.default_value) {
      return Wrong(argument, base::StrCat("is missing: ", argument.doc));
    }
    if (value == nullptr) value = &*argument.default_value;
    checked.push_back({argument.name, TRY(CheckValue(argument, *value))});
  }
  return Arguments(std::move(checked));
}

std::string Suggestion(std::string_view wrong, absl::Span<const std::string> names) {
  if (wrong.size() > 64) return "";
  const std::string* nearest = nullptr;
  // Something of what was written must remain, or any short name would do.
  size_t distance = std::min(std::max<size_t>(2, wrong.size() / 3) + 1, wrong.size());
  for (const std::string& name : names) {
    const size_t changes = EditDistance(wrong, name);
    if (changes < distance) {
      distance = changes;
      nearest = &name;
    }
  }
  return nearest == nullptr ? ""
                            : base::StrCat(" (did you mean ", Shown(*nearest), "?)");
}

}  // namespace millrace::ir
