#include "millrace/core/spec_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"

namespace millrace::core {
namespace {

// More fields, or axes of one, than this are refused.
constexpr size_t kFieldsMax = 1 << 12;
constexpr size_t kAxesMax = 32;

bool IsPlain(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '-' || c == '/' || static_cast<unsigned char>(c) >= 0x80;
}

class SpecReader {
 public:
  explicit SpecReader(std::string_view text) : text_(text) {}

  absl::StatusOr<Spec> Read() {
    const bool braces = TakeIf("{");
    std::vector<FieldSpec> fields;
    while (!AtEnd(braces)) {
      if (!fields.empty()) TRY(Take(","));
      fields.push_back(TRY(ReadField()));
      TRY(CheckNew(fields));
    }
    if (braces) TRY(Take("}"));
    SkipSpaces();
    if (at_ < text_.size()) return Wrong("the end");
    return Spec(std::move(fields));
  }

 private:
  bool AtEnd(bool braces) {
    SkipSpaces();
    return at_ == text_.size() || (braces && text_[at_] == '}');
  }

  absl::StatusOr<FieldSpec> ReadField() {
    FieldSpec field;
    field.name = TRY(ReadName());
    TRY(CheckFieldName(field.name));
    TRY(Take(":"));
    const size_t begin = at_;
    const std::string type = ReadWord();
    const std::optional<DType> dtype = ParseDType(type);
    if (!dtype) {
      at_ = begin;
      return Wrong("a type, such as int64, float32 or string");
    }
    field.dtype = *dtype;
    if (TakeIf("[")) field.shape = TRY(ReadShape());
    return field;
  }

  absl::StatusOr<std::string> ReadName() {
    if (!TakeIf("'")) {
      std::string word = ReadWord();
      if (word.empty()) return Wrong("a field's name");
      return word;
    }
    std::string name;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\'' && !(at_ < text_.size() && text_[at_] == '\'')) return name;
      if (c == '\'') ++at_;
      name += c;
    }
    return Wrong("a quote (') that ends the name");
  }

  std::string ReadWord() {
    SkipSpaces();
    const size_t begin = at_;
    while (at_ < text_.size() && IsPlain(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  // Reads what follows "[".
  absl::StatusOr<Shape> ReadShape() {
    if (TakeIf("...")) {
      TRY(Take("]"));
      return Shape::Unranked();
    }
    absl::InlinedVector<int64_t, 4> sizes;
    while (!TakeIf("]")) {
      if (!sizes.empty()) TRY(Take(","));
      sizes.push_back(TRY(ReadSize()));
      if (sizes.size() > kAxesMax) return Wrong("fewer axes");
    }
    return Shape(sizes);
  }

  absl::StatusOr<int64_t> ReadSize() {
    if (TakeIf("?")) return kUnknownSize;
    int64_t size = 0;
    const char* const end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data() + at_, end, size);
    if (error != std::errc() || size < 0) return Wrong("a size or ?");
    at_ = rest - text_.data();
    return size;
  }

  absl::Status CheckNew(const std::vector<FieldSpec>& fields) {
    if (fields.size() > kFieldsMax) return Wrong("fewer fields");
    const auto same = [&](const FieldSpec& field) {
      return field.name == fields.back().name;
    };
    if (std::none_of(fields.begin(), fields.end() - 1, same)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        base::StrCat("field ", fields.back().name, " stands there twice"));
  }

  void SkipSpaces() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }

  bool TakeIf(std::string_view sign) {
    SkipSpaces();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  absl::Status Take(std::string_view sign) {
    return TakeIf(sign) ? absl::OkStatus() : Wrong(base::StrCat("\"", sign, "\""));
  }

  absl::Status Wrong(std::string_view wanted) const {
    return absl::InvalidArgumentError(base::StrCat(
        "fields should read like \"{id: int64, image: uint8[?, ?, 3]}\"; at byte ", at_,
        " there should be ", wanted));
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string FieldNameText(std::string_view name) {
  if (!name.empty() && std::ranges::all_of(name, IsPlain)) return std::string(name);
  std::string quoted = "'";
  for (const char c : name) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

absl::StatusOr<Spec> ParseSpec(std::string_view text) {
  return SpecReader(text).Read();
}

}  // namespace millrace::core
