#include "millrace/ops/source/row_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/base/utf8.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

constexpr int64_t kDigitsMax = 64;  // With spaces; no number has more.

}  // namespace

bool ParseInteger(std::string_view text, int64_t* number) {
  text = base::ToStd(absl::StripAsciiWhitespace(base::ToAbsl(text)));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return false;
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    if (__builtin_mul_overflow(value, 10, &value)) return false;
    const int64_t digit = negative ? '0' - c : c - '0';
    if (__builtin_add_overflow(value, digit, &value)) return false;
  }
  *number = value;
  return true;
}

absl::StatusOr<std::byte*> TextColumn::RoomFor(int64_t size) {
  CHECK(!writing_) << "a field is given twice in a row";
  writing_own_ = size >= kLongTextBytes || !own_.empty() || expects_long_;
  if (writing_own_) {
    last_own_ = TRY(pool_.Allocate(size));
    writing_ = true;
    // Nothing to write is no reason to hand out no place.
    static std::byte nowhere;
    return size > 0 ? last_own_.mutable_data() : &nowhere;
  }
  last_begin_ = ends_.empty() ? 0 : ends_.back();
  last_end_ = last_begin_ + size;
  TRY(Reserve(last_end_));
  writing_ = true;
  return shared_.mutable_data() + last_begin_;
}

void TextColumn::Adopt(core::Buffer text) {
  CHECK(!writing_) << "a field is given twice in a row";
  writing_ = true;
  writing_own_ = true;
  last_own_ = std::move(text);
}

// Makes the shared buffer hold this many bytes. The size of the block before is a good
// guess, so that growing, which copies, is rare.
absl::Status TextColumn::Reserve(int64_t size) {
  if (size <= shared_.size() && shared_.size() > 0) return absl::OkStatus();
  const int64_t room = std::max({size, expected_bytes_, 2 * shared_.size()});
  core::Buffer larger = TRY(pool_.Allocate(room));
  if (last_begin_ > 0) std::memcpy(larger.mutable_data(), shared_.data(), last_begin_);
  shared_ = std::move(larger);
  return absl::OkStatus();
}

std::string_view TextColumn::last() const {
  if (writing_own_) return last_own_.text();
  return shared_.text().substr(last_begin_, last_end_ - last_begin_);
}

void TextColumn::Keep() {
  CHECK(writing_) << "a field is missing in a row";
  writing_ = false;
  if (writing_own_) {
    own_.push_back(std::move(last_own_));
  } else {
    ends_.push_back(last_end_);
  }
}

void TextColumn::Drop() {
  writing_ = false;
  last_own_ = {};
}

absl::StatusOr<core::Column> TextColumn::Take() {
  CHECK(!writing_);
  core::Column column = own_.empty() ? TRY(SideBySide()) : TRY(EachForItself());
  if (column.rows() > 0) {
    expects_long_ = std::ranges::any_of(
        own_, [](const core::Buffer& text) { return text.size() >= kLongTextBytes; });
  }
  // An eighth more, since blocks differ a little.
  if (!ends_.empty()) expected_bytes_ = std::max<int64_t>(64, ends_.back() / 8 * 9);
  shared_ = {};
  ends_.clear();
  own_.clear();
  return column;
}

absl::StatusOr<core::Column> TextColumn::SideBySide() {
  core::Buffer offsets =
      TRY(pool_.AllocateFor<int64_t>(static_cast<int64_t>(ends_.size()) + 1));
  const absl::Span<int64_t> places = offsets.MutableAs<int64_t>();
  places[0] = 0;
  std::ranges::copy(ends_, places.begin() + 1);
  return core::Column::Texts(dtype_, std::ssize(ends_), std::move(offsets),
                             shared_.Slice(0, ends_.empty() ? 0 : ends_.back()));
}

absl::StatusOr<core::Column> TextColumn::EachForItself() {
  core::Tensors tensors;
  std::vector<core::Buffer> texts;
  int64_t begin = 0;
  for (const int64_t end : ends_) {  // Short, and here before the first long one.
    texts.push_back(TRY(core::CopyBytes(shared_.data() + begin, end - begin, pool_)));
    begin = end;
  }
  texts.insert(texts.end(), own_.begin(), own_.end());
  core::Buffer offsets = TRY(pool_.AllocateFor<int64_t>(2 * std::ssize(texts)));
  const absl::Span<int64_t> places = offsets.MutableAs<int64_t>();
  for (size_t i = 0; i < texts.size(); ++i) {
    places[2 * i] = 0;
    places[2 * i + 1] = texts[i].size();
    constexpr int64_t kPairBytes = 2 * sizeof(int64_t);
    tensors.push_back(core::Tensor::Texts(
        dtype_, core::Shape(),
        offsets.Slice(static_cast<int64_t>(i) * kPairBytes, kPairBytes),
        std::move(texts[i])));
  }
  return core::Column::OfTensors(dtype_, std::move(tensors));
}

RowBuilder::RowBuilder(const core::Spec& spec, const SourceContext& context)
    : context_(context) {
  core::FieldNames names;
  for (const core::FieldSpec& field : spec.fields()) {
    CHECK(core::IsVariable(field.dtype) || field.dtype == core::DType::kInt64);
    names.push_back(field.name);
    const core::DType texts =
        core::IsVariable(field.dtype) ? field.dtype : core::DType::kBytes;
    fields_.push_back({.spec = field,
                       .texts = TextColumn(texts, context.pool),
                       .numbers = {},
                       .digits = {}});
  }
  names_ = std::make_shared<const core::FieldNames>(std::move(names));
}

absl::StatusOr<std::byte*> RowBuilder::RoomFor(int field, int64_t size) {
  Field& to = fields_[field];
  row_bytes_ += size;
  if (core::IsVariable(to.spec.dtype)) return to.texts.RoomFor(size);
  to.has_digits = true;
  to.digits.assign(size > kDigitsMax ? 0 : size, '\0');
  if (size > kDigitsMax) return nullptr;
  return reinterpret_cast<std::byte*>(to.digits.data());
}

bool RowBuilder::Adopt(int field, const core::Buffer& text) {
  Field& to = fields_[field];
  if (!core::IsVariable(to.spec.dtype)) return false;
  row_bytes_ += text.size();
  to.texts.Adopt(text);
  return true;
}

absl::Status RowBuilder::Put(int field, std::string_view text) {
  std::byte* const room = TRY(RoomFor(field, static_cast<int64_t>(text.size())));
  if (room != nullptr && !text.empty()) std::memcpy(room, text.data(), text.size());
  return absl::OkStatus();
}

// What is wrong with a field of the row, as its type goes.
absl::Status RowBuilder::Check(Field& field) {
  if (field.spec.dtype == core::DType::kInt64 && field.has_digits &&
      !ParseInteger(field.digits, &field.number)) {
    return absl::DataLossError(
        base::StrCat("field ", field.spec.name, " is no whole number"));
  }
  if (field.spec.dtype != core::DType::kString) return absl::OkStatus();
  const std::string_view text = field.texts.last();
  const size_t valid = base::ValidUtf8Size(text);
  if (valid == text.size()) return absl::OkStatus();
  return absl::DataLossError(base::StrCat("field ", field.spec.name,
                                          " is no valid UTF-8 at its byte ", valid));
}

absl::Status RowBuilder::EndRow(int64_t number) {
  for (Field& field : fields_) {
    const absl::Status checked = Check(field);
    if (checked.ok()) continue;
    DropRow();
    return checked;
  }
  for (Field& field : fields_) {
    field.has_digits = false;
    if (core::IsVariable(field.spec.dtype)) {
      field.texts.Keep();
    } else {
      field.numbers.push_back(field.number);
    }
  }
  numbers_.push_back(number);
  bytes_ += std::exchange(row_bytes_, 0);
  return absl::OkStatus();
}

void RowBuilder::DropRow() {
  for (Field& field : fields_) {
    field.texts.Drop();
    field.has_digits = false;
  }
  row_bytes_ = 0;
}

absl::StatusOr<core::Block> RowBuilder::TakeBlock(int64_t split) {
  std::vector<core::Column> columns;
  for (Field& field : fields_) {
    if (core::IsVariable(field.spec.dtype)) {
      columns.push_back(TRY(field.texts.Take()));
      continue;
    }
    const auto size = static_cast<int64_t>(field.numbers.size() * sizeof(int64_t));
    core::Buffer values =
        TRY(core::CopyBytes(field.numbers.data(), size, context_.pool));
    columns.push_back(
        core::Column::Dense(core::DType::kInt64, rows(), {}, std::move(values)));
    field.numbers.clear();
  }
  const core::Block block(rows(), names_, std::move(columns));
  const std::vector<int64_t> numbers = std::exchange(numbers_, {});
  bytes_ = 0;
  return WithSourceIds(block, split, numbers, context_);
}

}  // namespace millrace::ops
