#include "millrace/adapters/arrow/fields.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"

namespace millrace::arrow {
namespace {

constexpr int kDepthMax = 16;
constexpr int64_t kFieldsMax = 100'000;
constexpr int64_t kWidthMax = int64_t{1} << 30;

// Types without parts, by their format.
struct Plain {
  std::string_view format;
  Layout layout;
  int64_t width;
  core::DType dtype;
};

constexpr std::array kPlain = {
    Plain{"b", Layout::kBits, 0, core::DType::kBool},
    Plain{"c", Layout::kFixed, 1, core::DType::kInt8},
    Plain{"C", Layout::kFixed, 1, core::DType::kUint8},
    Plain{"s", Layout::kFixed, 2, core::DType::kInt16},
    Plain{"S", Layout::kFixed, 2, core::DType::kUint16},
    Plain{"i", Layout::kFixed, 4, core::DType::kInt32},
    Plain{"I", Layout::kFixed, 4, core::DType::kUint32},
    Plain{"l", Layout::kFixed, 8, core::DType::kInt64},
    Plain{"L", Layout::kFixed, 8, core::DType::kUint64},
    Plain{"e", Layout::kFixed, 2, core::DType::kFloat16},
    Plain{"f", Layout::kFixed, 4, core::DType::kFloat32},
    Plain{"g", Layout::kFixed, 8, core::DType::kFloat64},
    Plain{"z", Layout::kTexts, 0, core::DType::kBytes},
    Plain{"u", Layout::kTexts, 0, core::DType::kString},
    Plain{"Z", Layout::kLargeTexts, 0, core::DType::kBytes},
    Plain{"U", Layout::kLargeTexts, 0, core::DType::kString},
    Plain{"tdD", Layout::kFixed, 4, core::DType::kInt64},  // Days.
    Plain{"tdm", Layout::kFixed, 8, core::DType::kInt64},  // Milliseconds.
    Plain{"tts", Layout::kFixed, 4, core::DType::kInt64},  // Times of the day.
    Plain{"ttm", Layout::kFixed, 4, core::DType::kInt64},
    Plain{"ttu", Layout::kFixed, 8, core::DType::kInt64},
    Plain{"ttn", Layout::kFixed, 8, core::DType::kInt64},
};

std::optional<Plain> FindPlain(std::string_view format) {
  // Moments and spans of time: tss:zone, tDm and the like.
  if (format.starts_with("ts") || format.starts_with("tD")) {
    return Plain{format, Layout::kFixed, 8, core::DType::kInt64};
  }
  const auto found = std::ranges::find(kPlain, format, &Plain::format);
  if (found == kPlain.end()) return std::nullopt;
  return *found;
}

// The number behind the colon of "w:16" and "+w:3".
std::optional<int64_t> NumberIn(std::string_view format) {
  int64_t number = 0;
  const std::string_view digits = format.substr(format.find(':') + 1);
  if (!absl::SimpleAtoi(base::ToAbsl(digits), &number) || number < 1 ||
      number > kWidthMax) {
    return std::nullopt;
  }
  return number;
}

// What people call a type that rows cannot have, and what they can do.
std::string WhyRefused(std::string_view format) {
  std::string_view name = "of a type that rows cannot have";
  if (format.starts_with("d:")) {
    return "a decimal, which rows cannot hold exactly; write it as float64, or as a "
           "string";
  }
  if (format == "n") name = "without a type: it has nothing but nulls";
  if (format.starts_with("v") || format.starts_with("+v")) {
    name = "a view; write it as utf8, binary or list";
  }
  if (format.starts_with("+u")) name = "a union";
  if (format == "+r") name = "run-end encoded";
  if (format.starts_with("ti")) name = "an interval";
  if (format.starts_with("w:") || format.starts_with("+w:")) {
    name = "of a fixed size that is none";
  }
  return base::StrCat(name, " (Arrow's format ", format, ")");
}

class Flattener {
 public:
  absl::StatusOr<Leaves> Flatten(const ArrowSchema& schema) {
    for (int64_t i = 0; i < schema.n_children; ++i) {
      field_ = i;
      TRY(Add(*schema.children[i], schema.children[i]->name, {}));
    }
    return std::move(leaves_);
  }

 private:
  // Adds the leaves below a type, which is reached by `path`.
  absl::Status Add(const ArrowSchema& schema, const std::string& name,
                   std::vector<Step> path) {
    const std::string_view format = schema.format;
    TRY(Check(name, path.size()));
    if (schema.dictionary != nullptr) return AddDictionary(schema, name, path);
    if (format == "+s") return AddStruct(schema, name, path);
    if (format == "+l" || format == "+m" || format == "+L" ||
        format.starts_with("+w:")) {
      return AddList(schema, name, path);
    }
    if (const std::optional<Plain> plain = FindPlain(format)) {
      path.push_back({.layout = plain->layout, .width = plain->width});
      return AddLeaf(name, plain->dtype, std::move(path));
    }
    const std::optional<int64_t> width =
        format.starts_with("w:") ? NumberIn(format) : std::nullopt;
    if (!width) return Refuse(name, WhyRefused(format));
    path.push_back({.layout = Layout::kFixedTexts, .width = *width});
    return AddLeaf(name, core::DType::kBytes, std::move(path));
  }

  absl::Status Check(const std::string& name, size_t depth) const {
    TRY(core::CheckFieldName(name));
    if (depth > kDepthMax) {
      return absl::InvalidArgumentError(
          base::StrCat("field ", name, " is nested over ", kDepthMax, " deep"));
    }
    if (std::ssize(leaves_.leaves) >= kFieldsMax) {
      return absl::InvalidArgumentError(
          base::StrCat("there are over ", kFieldsMax, " fields"));
    }
    return absl::OkStatus();
  }

  absl::Status AddStruct(const ArrowSchema& schema, const std::string& name,
                         std::vector<Step> path) {
    path.push_back({.layout = Layout::kStruct});
    for (int64_t i = 0; i < schema.n_children; ++i) {
      path.back().child = i;
      const ArrowSchema& child = *schema.children[i];
      TRY(Add(child, base::StrCat(name, ".", child.name), path));
    }
    return absl::OkStatus();
  }

  absl::Status AddList(const ArrowSchema& schema, const std::string& name,
                       std::vector<Step> path) {
    const std::string_view format = schema.format;
    Step step = {.layout = format == "+L" ? Layout::kLargeList : Layout::kList};
    if (format.starts_with("+w:")) {
      const std::optional<int64_t> width = NumberIn(format);
      if (!width) return Refuse(name, WhyRefused(format));
      step = {.layout = Layout::kFixedList, .width = *width};
    }
    path.push_back(step);
    return Add(*schema.children[0], name, std::move(path));
  }

  absl::Status AddDictionary(const ArrowSchema& schema, const std::string& name,
                             std::vector<Step> path) {
    const std::optional<Plain> numbers = FindPlain(schema.format);
    const std::optional<Plain> values = FindPlain(schema.dictionary->format);
    if (!values || schema.dictionary->dictionary != nullptr) {
      return Refuse(name, "a dictionary of values that are no scalars");
    }
    if (!numbers || !core::IsInteger(numbers->dtype)) {
      return Refuse(name, WhyRefused(schema.format));
    }
    path.push_back({.layout = Layout::kDictionary,
                    .width = numbers->width,
                    .is_signed = core::IsSigned(numbers->dtype)});
    return Add(*schema.dictionary, name, std::move(path));
  }

  absl::Status AddLeaf(const std::string& name, core::DType dtype,
                       std::vector<Step> path) {
    if (!names_.insert(name).second) {
      return absl::InvalidArgumentError(base::StrCat("there are two fields ", name));
    }
    std::vector<int64_t> sizes;
    for (const Step& step : path) {
      if (step.layout == Layout::kFixedList) sizes.push_back(step.width);
      if (step.layout == Layout::kList || step.layout == Layout::kLargeList) {
        sizes.push_back(core::kUnknownSize);
      }
    }
    leaves_.leaves.push_back(
        {.spec = {name, dtype, core::Shape(absl::MakeConstSpan(sizes))},
         .field = field_,
         .steps = std::move(path)});
    return absl::OkStatus();
  }

  absl::Status Refuse(const std::string& name, const std::string& why) {
    leaves_.refused.push_back({name, base::StrCat("field ", name, " is ", why)});
    return absl::OkStatus();
  }

  Leaves leaves_;
  int64_t field_ = 0;
  std::set<std::string> names_;
};

}  // namespace

const Leaf* Leaves::Find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      leaves, [&](const Leaf& leaf) { return leaf.spec.name == name; });
  return found == leaves.end() ? nullptr : &*found;
}

core::Spec Leaves::spec() const {
  std::vector<core::FieldSpec> fields;
  fields.reserve(leaves.size());
  for (const Leaf& leaf : leaves) fields.push_back(leaf.spec);
  return core::Spec(std::move(fields));
}

absl::StatusOr<Leaves> LeavesOf(const ArrowSchema& schema) {
  return Flattener().Flatten(schema);
}

}  // namespace millrace::arrow
