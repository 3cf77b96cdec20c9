#include "millrace/core/tensor.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"

namespace millrace::core {
namespace {

constexpr int64_t kShownMax = 8;
constexpr size_t kTextShownMax = 64;
constexpr int64_t kOffsetSize = sizeof(int64_t);

template <typename T>
std::string Digits(T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

// A 16-bit float: the roundest float that gives it back, 0.1 and not 0.099975586.
template <typename Small>
  requires std::is_class_v<Small>
std::string Digits(Small small) {
  const auto value = static_cast<float>(small);
  for (int precision = 1;; ++precision) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof(text), value,
                                   std::chars_format::general, precision)
                         .ptr;
    float read = 0;
    std::from_chars(text, end, read);
    if (Small(read) == small) return Digits(read);
  }
}

// Prints a float stored as `Stored`, whose value is `value`.
template <typename Stored, typename Value>
std::string PrintFloat(Stored stored, Value value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = Digits(stored);
  // A float always looks like one, so that it reads back as one.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Buffer CopyToHeap(const void* data, int64_t size) {
  absl::StatusOr<Buffer> buffer = CopyBytes(data, size, HeapPool());
  CHECK(buffer.ok()) << buffer.status();
  return *std::move(buffer);
}

std::string QuoteText(std::string_view text) {
  const std::string shown =
      absl::CHexEscape(base::ToAbsl(text.substr(0, kTextShownMax)));
  return base::StrCat("\"", shown, text.size() > kTextShownMax ? "\"..." : "\"");
}

bool SameTexts(const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.count(); ++i) {
    if (a.TextAt(i) != b.TextAt(i)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Buffer> CopyBytes(const void* data, int64_t size, Pool& pool) {
  Buffer buffer = TRY(pool.Allocate(size));
  if (size > 0) std::memcpy(buffer.mutable_data(), data, size);
  return buffer;
}

std::string PrintValue(DType dtype, const std::byte* value) {
  return VisitDType(dtype, [&]<typename T>() -> std::string {
    T typed;
    std::memcpy(&typed, value, sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      return typed ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
      return base::StrCat(typed);
    } else if constexpr (std::is_floating_point_v<T>) {
      return PrintFloat(typed, typed);
    } else {
      return PrintFloat(typed, static_cast<float>(typed));
    }
  });
}

Tensor Tensor::Fixed(DType dtype, Shape shape, Buffer values) {
  CHECK(!IsVariable(dtype));
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.count_ = shape.Count();
  tensor.shape_ = std::move(shape);
  CHECK_EQ(values.size(), tensor.count_ * SizeOf(dtype));
  tensor.values_ = std::move(values);
  return tensor;
}

Tensor Tensor::Texts(DType dtype, Shape shape, Buffer offsets, Buffer data) {
  CHECK(IsVariable(dtype));
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.count_ = shape.Count();
  tensor.shape_ = std::move(shape);
  CHECK_EQ(offsets.size(), (tensor.count_ + 1) * kOffsetSize);
  CHECK_GE(offsets.As<int64_t>().front(), 0);
  CHECK_LE(offsets.As<int64_t>().back(), data.size());
  tensor.offsets_ = std::move(offsets);
  tensor.values_ = std::move(data);
  return tensor;
}

Tensor Tensor::Text(std::string_view text, DType dtype) {
  const std::string owned(text);
  return FromTexts(absl::MakeConstSpan(&owned, 1), Shape(), dtype);
}

Tensor Tensor::FromTexts(absl::Span<const std::string> texts, Shape shape,
                         DType dtype) {
  CHECK_EQ(texts.size(), shape.Count());
  std::vector<int64_t> offsets = {0};
  std::string data;
  for (const std::string& text : texts) {
    data += text;
    offsets.push_back(static_cast<int64_t>(data.size()));
  }
  const auto bytes = static_cast<int64_t>(offsets.size()) * kOffsetSize;
  return Texts(dtype, std::move(shape), CopyToHeap(offsets.data(), bytes),
               CopyToHeap(data.data(), static_cast<int64_t>(data.size())));
}

Tensor Tensor::CopyOf(DType dtype, Shape shape, const void* values) {
  const int64_t bytes = shape.Count() * SizeOf(dtype);
  return Fixed(dtype, std::move(shape), CopyToHeap(values, bytes));
}

std::string_view Tensor::TextAt(int64_t index) const {
  CHECK(IsVariable(dtype_));
  CHECK_GE(index, 0);
  CHECK_LT(index, count_);
  const absl::Span<const int64_t> offsets = offsets_.As<int64_t>();
  return values_.text().substr(offsets[index], offsets[index + 1] - offsets[index]);
}

Tensor Tensor::Part(int64_t index) const {
  CHECK_GT(shape_.rank(), 0);
  CHECK_GE(index, 0);
  CHECK_LT(index, shape_[0]);
  Tensor part = *this;
  part.shape_ = shape_.WithoutLeading();
  part.count_ = count_ / shape_[0];
  const int64_t first = index * part.count_;
  if (IsVariable(dtype_)) {
    part.offsets_ =
        offsets_.Slice(first * kOffsetSize, (part.count_ + 1) * kOffsetSize);
  } else {
    const int64_t size = SizeOf(dtype_);
    part.values_ = values_.Slice(first * size, part.count_ * size);
  }
  return part;
}

int64_t Tensor::content_bytes() const {
  if (!IsVariable(dtype_)) return values_.size();
  const absl::Span<const int64_t> offsets = offsets_.As<int64_t>();
  return offsets.back() - offsets.front();
}

std::string Tensor::ToString() const {
  std::string text;
  for (int64_t i = 0; i < std::min(count_, kShownMax); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ",
                    IsVariable(dtype_)
                        ? QuoteText(TextAt(i))
                        : PrintValue(dtype_, values_.data() + i * SizeOf(dtype_)));
  }
  if (count_ > kShownMax) text += ", ...";
  if (shape_.is_scalar()) return base::StrCat(Name(dtype_), " ", text);
  return base::StrCat(Name(dtype_), shape_.ToString(), " [", text, "]");
}

bool operator==(const Tensor& a, const Tensor& b) {
  if (a.dtype_ != b.dtype_ || a.shape_ != b.shape_) return false;
  return IsVariable(a.dtype_) ? SameTexts(a, b) : a.values_.text() == b.values_.text();
}

}  // namespace millrace::core
