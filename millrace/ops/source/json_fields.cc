#include "millrace/ops/source/json_fields.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/text.h"
#include "millrace/codec/json.h"
#include "millrace/codec/json_text.h"
#include "millrace/codec/number_text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"

namespace millrace::ops {
namespace {

using codec::JsonValue;
using Kind = JsonValue::Kind;

// Objects inside more objects than this are given as they stand.
constexpr int kDepthMax = 16;
constexpr size_t kFieldsMax = 1 << 12;  // As many as a spec's text may have.

// What values were seen to be.
struct Seen {
  bool integers = false;
  bool numbers = false;
  bool bools = false;
  bool strings = false;
  bool others = false;

  // The one type that holds them all.
  std::optional<core::DType> OneType() const {
    const bool numeric = integers || numbers;
    if (others || (numeric ? 1 : 0) + (bools ? 1 : 0) + (strings ? 1 : 0) != 1) {
      return std::nullopt;
    }
    if (strings) return core::DType::kString;
    if (bools) return core::DType::kBool;
    return numbers ? core::DType::kFloat64 : core::DType::kInt64;
  }

  bool any() const { return integers || numbers || bools || strings || others; }

  void AddScalar(const JsonValue& value) {
    int64_t integer = 0;
    switch (value.kind) {
      case Kind::kNull:
        break;
      case Kind::kBool:
        bools = true;
        break;
      case Kind::kString:
        strings = true;
        break;
      case Kind::kNumber:
        if (codec::ReadInteger(value.text, &integer) == codec::NumberRead::kDone) {
          integers = true;
        } else {
          numbers = true;
        }
        break;
      default:
        others = true;
    }
  }
};

// A member of rows, or of a member that is an object.
struct Member {
  std::string name;
  Seen scalars = {};
  bool arrays = false;
  Seen items = {};  // Of the arrays.
  bool objects = false;
  std::vector<std::unique_ptr<Member>> members = {};
  absl::flat_hash_map<std::string, Member*> by_key = {};

  Member& Find(std::string_view key) {
    Member*& member = by_key[std::string(key)];
    if (member == nullptr) {
      members.push_back(std::make_unique<Member>(Member{.name = std::string(key)}));
      member = members.back().get();
    }
    return *member;
  }
};

class FieldTeller {
 public:
  // Tells whether it was an object.
  bool Look(std::string_view text, Member& member, int depth) {
    // The members of this object are taken down before any of them is looked into.
    std::vector<std::pair<std::string, JsonValue>> values;
    const absl::Status seen =
        picker_.ForEachMember(text, [&](std::string_view key, const JsonValue& value) {
          values.emplace_back(key, value);
        });
    if (!seen.ok()) return false;
    for (const auto& [key, value] : values) Add(value, member.Find(key), depth + 1);
    return true;
  }

  void Emit(const Member& member, const std::string& path) {
    const bool plain = member.scalars.any();
    if (member.objects && !plain && !member.arrays && !member.members.empty()) {
      for (const auto& inner : member.members) {
        Emit(*inner, path.empty() ? inner->name : base::StrCat(path, ".", inner->name));
      }
      return;
    }
    if (!core::CheckFieldName(path).ok()) return;
    const bool mixed = member.objects || (plain && member.arrays);
    std::optional<core::DType> dtype = std::nullopt;
    if (!mixed)
      dtype = member.arrays ? member.items.OneType() : member.scalars.OneType();
    const bool is_array = member.arrays && dtype;
    fields_.push_back({path, dtype.value_or(core::DType::kString),
                       is_array ? core::Shape{core::kUnknownSize} : core::Shape()});
  }

  const std::vector<core::FieldSpec>& fields() const { return fields_; }

 private:
  void Add(const JsonValue& value, Member& member, int depth) {
    if (value.kind == Kind::kArray) {
      member.arrays = true;
      codec::JsonItems items(value.text);
      JsonValue item;
      while (items.Next(item)) {
        member.items.AddScalar(item);
        if (item.kind == Kind::kNull) member.items.others = true;
      }
    } else if (value.kind == Kind::kObject) {
      member.objects = true;
      // A name with dots can be no step of a path.
      const bool enters =
          depth < kDepthMax && member.name.find('.') == std::string::npos;
      if (!enters || !Look(value.text, member, depth)) member.scalars.others = true;
    } else {
      member.scalars.AddScalar(value);
    }
  }

  codec::JsonPicker picker_{{}};
  std::vector<core::FieldSpec> fields_;
};

}  // namespace

absl::StatusOr<core::Spec> TellJsonFields(const std::vector<std::string>& rows) {
  FieldTeller teller;
  Member root = {.name = ""};
  root.objects = true;
  std::string padded;
  for (const std::string& row : rows) {
    const bool marked = row.starts_with("\xef\xbb\xbf");
    padded.assign(row, marked ? 3 : 0);
    const size_t size = padded.size();
    padded.append(codec::kJsonSlack, '\0');
    teller.Look(std::string_view(padded).substr(0, size), root, 0);
  }
  teller.Emit(root, "");
  if (teller.fields().empty()) {
    return absl::InvalidArgumentError(
        base::StrCat("none of the first ", rows.size(),
                     " rows is a JSON object with members: are these lines of JSON?"));
  }
  if (teller.fields().size() > kFieldsMax) {
    return absl::InvalidArgumentError(
        base::StrCat("the first rows have ", teller.fields().size(),
                     " different fields: name those to read, in argument fields"));
  }
  return core::Spec(teller.fields());
}

}  // namespace millrace::ops
