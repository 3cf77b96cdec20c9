#include "millrace/ir/literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/base/utf8.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/shown.h"

namespace millrace::ir {
namespace {

using core::DType;
using core::Tensor;

constexpr int64_t kInlineValuesMax = 32;
constexpr int64_t kInlineBytesMax = 1024;
constexpr int kInlineRankMax = 8;

absl::Status BadNumber(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      base::StrCat("number is wrong: ", Shown(text), " ", why));
}

// Where the digits end and the suffix begins.
size_t SuffixBegin(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const bool digit = (c >= '0' && c <= '9') || c == '.';
    const bool exponent = c == 'e' && at + 1 < text.size();
    const bool sign = (c == '+' || c == '-') && (at == 0 || text[at - 1] == 'e');
    if (!digit && !exponent && !sign) break;
    ++at;
  }
  return at;
}

template <typename T>
absl::StatusOr<Tensor> ParseAs(const std::string& digits, std::string_view shown) {
  if (std::is_unsigned_v<T> && digits.starts_with('-')) {
    return BadNumber(shown,
                     base::StrCat("does not fit ", core::Name(core::kDTypeOf<T>)));
  }
  T value{};
  const char* end = digits.data() + digits.size();
  const std::from_chars_result parsed = std::from_chars(digits.data(), end, value);
  if (parsed.ec == std::errc::result_out_of_range) {
    return BadNumber(shown,
                     base::StrCat("does not fit ", core::Name(core::kDTypeOf<T>)));
  }
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return BadNumber(shown, base::StrCat("is not ", core::Name(core::kDTypeOf<T>)));
  }
  return Tensor::Scalar(value);
}

absl::StatusOr<Tensor> ParseTyped(DType dtype, const std::string& digits,
                                  std::string_view shown) {
  return core::VisitDType(dtype, [&]<typename T>() -> absl::StatusOr<Tensor> {
    if constexpr (std::is_same_v<T, bool>) {
      return BadNumber(shown, "is not a bool");
    } else if constexpr (std::is_arithmetic_v<T>) {
      return ParseAs<T>(digits, shown);
    } else {  // The 16-bit floats.
      const Tensor wide = TRY(ParseAs<float>(digits, shown));
      const T value(wide.As<float>()[0]);
      if (std::isinf(static_cast<float>(value))) {
        return BadNumber(shown,
                         base::StrCat("does not fit ", core::Name(core::kDTypeOf<T>)));
      }
      return Tensor::Scalar(value);
    }
  });
}

Tensor SpecialValue(DType dtype, double value) {
  return core::VisitDType(dtype, [&]<typename T>() -> Tensor {
    if constexpr (std::is_floating_point_v<T>) {
      return Tensor::Scalar(static_cast<T>(value));
    } else if constexpr (!std::is_integral_v<T>) {
      return Tensor::Scalar(T(static_cast<float>(value)));
    } else {
      CHECK(false) << "not a float";
      return Tensor();
    }
  });
}

std::string PrintItem(const Tensor& value, int64_t index) {
  if (core::IsVariable(value.dtype())) {
    return Quote(value.TextAt(index), value.dtype());
  }
  const int64_t size = core::SizeOf(value.dtype());
  return core::PrintValue(value.dtype(), value.values().data() + index * size);
}

// Writes one axis and what is below it; `next` runs over the values.
void PrintAxis(const Tensor& value, int axis, int64_t& next, std::string& out) {
  if (axis == value.shape().rank()) {
    out += PrintItem(value, next++);
    return;
  }
  out += '[';
  for (int64_t i = 0; i < value.shape()[axis]; ++i) {
    if (i > 0) out += ", ";
    PrintAxis(value, axis + 1, next, out);
  }
  out += ']';
}

// The double that a printed value is read as.
template <typename T>
double ReadDouble(const T& value) {
  const std::string text =
      core::PrintValue(core::kDTypeOf<T>, reinterpret_cast<const std::byte*>(&value));
  double read = 0;
  std::from_chars(text.data(), text.data() + text.size(), read);
  return read;
}

// Whether the items of a list, which are read as int64 or as double first, come back
// bit for bit: NaN has many bit patterns, and some uint64 are no int64.
bool ReadsBack(const Tensor& value) {
  if (core::IsVariable(value.dtype())) return true;
  return core::VisitDType(value.dtype(), [&]<typename T>() {
    return std::ranges::all_of(value.As<T>(), [](const T& item) {
      if constexpr (std::is_same_v<T, bool>) {
        return true;
      } else if constexpr (std::is_integral_v<T>) {
        return std::in_range<int64_t>(item);
      } else if constexpr (std::is_floating_point_v<T>) {
        return !std::isnan(item) && item == static_cast<T>(ReadDouble(item));
      } else {
        return !std::isnan(static_cast<float>(item)) &&
               item == T(static_cast<float>(ReadDouble(item)));
      }
    });
  });
}

}  // namespace

absl::StatusOr<Literal> ParseNumber(std::string_view number, bool negative) {
  const std::string text = base::StrCat(negative ? "-" : "", number);
  const size_t suffix_begin = SuffixBegin(text);
  const std::string suffix = text.substr(suffix_begin);
  const std::string digits = text.substr(0, suffix_begin);
  if (suffix.empty()) {
    const bool integer = digits.find_first_of(".e") == std::string::npos;
    const DType dtype = integer ? DType::kInt64 : DType::kFloat64;
    return Literal{TRY(ParseTyped(dtype, digits, text)), true};
  }
  const std::optional<DType> dtype = core::ParseDType(suffix);
  if (!dtype || !core::IsNumeric(*dtype) || suffix != core::LiteralSuffix(*dtype)) {
    return BadNumber(text, base::StrCat("has an unknown suffix: ", Shown(suffix)));
  }
  return Literal{TRY(ParseTyped(*dtype, digits, text)), false};
}

std::optional<Literal> ParseSpecial(std::string_view word, bool negative) {
  const std::string_view stem = word.substr(0, 3);
  if (stem != "nan" && stem != "inf") return std::nullopt;
  const std::string_view suffix = word.substr(3);
  std::optional<DType> dtype = DType::kFloat64;
  if (!suffix.empty()) dtype = core::ParseDType(suffix);
  if (!dtype || !core::IsFloat(*dtype)) return std::nullopt;
  if (!suffix.empty() && suffix != core::LiteralSuffix(*dtype)) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  const double value = stem == "nan" ? std::numeric_limits<double>::quiet_NaN()
                                     : (negative ? -infinity : infinity);
  return Literal{SpecialValue(*dtype, value), suffix.empty()};
}

bool FitsInText(const Tensor& value) {
  if (value.shape().is_scalar()) return value.content_bytes() <= kInlineBytesMax;
  return value.count() > 0 && value.count() <= kInlineValuesMax &&
         value.shape().rank() <= kInlineRankMax &&
         value.content_bytes() <= kInlineBytesMax && ReadsBack(value);
}

std::string PrintLiteral(const Tensor& value, bool weak) {
  CHECK(FitsInText(value));
  std::string out;
  int64_t next = 0;
  if (value.shape().is_scalar()) {
    out = PrintItem(value, 0);
    return weak ? out : base::StrCat(out, core::LiteralSuffix(value.dtype()));
  }
  PrintAxis(value, 0, next, out);
  return base::StrCat(core::Name(value.dtype()), out);
}

std::string Quote(std::string_view text, DType dtype) {
  const absl::string_view raw = base::ToAbsl(text);
  if (dtype == DType::kBytes) return base::StrCat("b\"", absl::CHexEscape(raw), "\"");
  // The text as a whole stays valid UTF-8, whatever it quotes.
  return base::StrCat(
      "\"", base::IsUtf8(text) ? absl::Utf8SafeCHexEscape(raw) : absl::CHexEscape(raw),
      "\"");
}

bool IsPlainName(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
}

}  // namespace millrace::ir
