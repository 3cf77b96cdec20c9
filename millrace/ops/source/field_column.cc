#include "millrace/ops/source/field_column.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/number_text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source/row_builder.h"

namespace millrace::ops {
namespace {

using codec::NumberRead;

template <typename T>
inline constexpr bool kIsSmallFloat =
    std::same_as<T, core::Float16> || std::same_as<T, core::BFloat16>;

template <typename T>
inline constexpr bool kIsReal = std::floating_point<T> || kIsSmallFloat<T>;

// Makes the nearest number of a type; false where that is none.
template <typename T>
bool Narrow(double from, T* to) {
  if constexpr (std::same_as<T, double>) {
    *to = from;
    return true;
  } else if (!(std::abs(from) <= std::numeric_limits<float>::max())) {
    const bool is_extreme = std::isnan(from) || std::isinf(from);
    const float value = std::isnan(from) ? std::numeric_limits<float>::quiet_NaN()
                                         : std::numeric_limits<float>::infinity();
    *to = T(from < 0 ? -value : value);
    return is_extreme;
  } else {
    *to = T(static_cast<float>(from));
    return std::isfinite(static_cast<float>(*to));
  }
}

template <typename T>
bool Narrow(int64_t from, T* to) {
  *to = static_cast<T>(from);
  return static_cast<int64_t>(*to) == from;
}

template <typename T>
NumberRead Read(std::string_view text, T* value) {
  if constexpr (std::same_as<T, uint64_t>) {
    return codec::ReadInteger(text, value);
  } else {
    std::conditional_t<kIsReal<T>, double, int64_t> wide = 0;
    NumberRead read = NumberRead::kDone;
    if constexpr (kIsReal<T>) {
      read = codec::ReadFloat(text, &wide);
    } else {
      read = codec::ReadInteger(text, &wide);
    }
    if (read != NumberRead::kDone) return read;
    return Narrow(wide, value) ? NumberRead::kDone : NumberRead::kOutOfRange;
  }
}

}  // namespace

std::string Shown(std::string_view text) {
  constexpr size_t kShownMax = 40;
  if (text.size() <= kShownMax) return base::StrCat("\"", text, "\"");
  size_t size = kShownMax;  // Up to the end of a character.
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80) --size;
  return base::StrCat("\"", text.substr(0, size), "...\"");
}

absl::Status GrowingBytes::Grow(int64_t more) {
  constexpr int64_t kLeastBytes = 1 << 10;
  const int64_t wanted =
      std::max({size_ + more, 2 * buffer_.size(), kLeastBytes, expected_});
  core::Buffer next = TRY(pool_->Allocate(wanted));
  if (size_ > 0) std::memcpy(next.mutable_data(), buffer_.data(), size_);
  buffer_ = std::move(next);
  return absl::OkStatus();
}

core::Buffer GrowingBytes::Take() {
  core::Buffer taken = buffer_.Slice(0, size_);
  buffer_ = {};
  size_ = 0;
  return taken;
}

template <typename T>
absl::Status FieldColumn::Append(T value) {
  const absl::StatusOr<std::byte*> room = values_.RoomFor(sizeof(T));
  if (!room.ok()) return room.status();
  std::memcpy(*room, &value, sizeof(T));
  values_.Add(sizeof(T));
  return absl::OkStatus();
}

template <typename T>
absl::Status FieldColumn::AppendNumber(std::string_view text) {
  if constexpr (std::same_as<T, bool>) {
    return absl::DataLossError(base::StrCat(Shown(text), " is no bool"));
  }
  T value = {};
  switch (Read(text, &value)) {
    case NumberRead::kDone:
      return Append(value);
    case NumberRead::kNoNumber:
      return absl::DataLossError(
          base::StrCat(Shown(text), " is no ", core::Name(spec_.dtype)));
    case NumberRead::kOutOfRange:
      break;
  }
  return absl::DataLossError(base::StrCat(
      Shown(text), " is out of the range of its type, ", core::Name(spec_.dtype)));
}

FieldColumn::FieldColumn(const core::FieldSpec& spec, int64_t rows, core::Pool& pool)
    : spec_(spec),
      is_text_(core::IsVariable(spec.dtype)),
      is_integer_(core::IsInteger(spec.dtype)),
      value_bytes_(core::SizeOf(spec.dtype)),
      rows_expected_(rows),
      pool_(pool),
      values_(pool),
      text_ends_(pool) {
  CHECK(spec.shape.ranked());
  for (const int64_t size : spec.shape.sizes()) {
    axes_.push_back({.size = size, .ends = GrowingBytes(pool)});
  }
  if (axes_.empty() && !is_text_) values_.Expect(rows * value_bytes_);
  if (axes_.empty()) text_ends_.Expect((rows + 1) * 8);
  if (is_text_) return;
  append_number_ = core::VisitDType(
      spec.dtype, []<typename T>() -> absl::Status (FieldColumn::*)(std::string_view) {
        return &FieldColumn::AppendNumber<T>;
      });
}

absl::Status FieldColumn::PutBool(bool value) {
  if (spec_.dtype == core::DType::kBool) return Append(value);
  if (is_text_) return PutText(value ? "true" : "false");
  return absl::DataLossError(
      base::StrCat(value ? "true" : "false", " is no ", core::Name(spec_.dtype)));
}

absl::Status FieldColumn::PutAnyText(std::string_view text) {
  if (!is_text_) {
    return absl::DataLossError(
        base::StrCat(Shown(text), " is no ", core::Name(spec_.dtype)));
  }
  const absl::StatusOr<char*> room = RoomForText(std::ssize(text));
  if (!room.ok()) return room.status();
  if (!text.empty()) std::memcpy(*room, text.data(), text.size());
  return EndText(std::ssize(text));
}

absl::StatusOr<char*> FieldColumn::RoomForText(int64_t size_max) {
  CHECK(is_text_);
  // By the rows that came, so that a block's texts find room once or twice.
  if (rows_ > 0 && !values_.HasRoom(size_max)) {
    const int64_t each = values_.size() / rows_ + 1;
    values_.Expect((each + each / 8) * rows_expected_);
  }
  const absl::StatusOr<std::byte*> room =
      values_.RoomFor(std::max<int64_t>(1, size_max));
  if (!room.ok()) return room.status();
  return reinterpret_cast<char*>(*room);
}

absl::Status FieldColumn::EndText(int64_t size) {
  values_.Add(size);
  longest_ = std::max(longest_, size);
  return PutEnd(text_ends_, values_.size());
}

// Ends are told behind a first one, which is 0.
absl::Status FieldColumn::PutEnd(GrowingBytes& ends, int64_t end) {
  if (ends.size() == 0) {
    const int64_t none = 0;
    std::memcpy(TRY(ends.RoomFor(sizeof(none))), &none, sizeof(none));
    ends.Add(sizeof(none));
  }
  const absl::StatusOr<std::byte*> room = ends.RoomFor(sizeof(end));
  if (!room.ok()) return room.status();
  std::memcpy(*room, &end, sizeof(end));
  ends.Add(sizeof(end));
  return absl::OkStatus();
}

absl::Status FieldColumn::EndAxis(int axis, int64_t items) {
  Axis& along = axes_[axis];
  if (along.size != core::kUnknownSize) {
    if (items == along.size) return absl::OkStatus();
    return absl::DataLossError(
        base::StrCat("an array has ", items, " items, not ", along.size));
  }
  along.items += items;
  return PutEnd(along.ends, along.items);
}

absl::Status FieldColumn::PutDefaultBelow(int axis) {
  if (axis < rank()) {
    const int64_t size = std::max<int64_t>(0, axes_[axis].size);
    for (int64_t i = 0; i < size; ++i) TRY(PutDefaultBelow(axis + 1));
    return EndAxis(axis, size);
  }
  if (is_text_) return PutText("");
  return core::VisitDType(spec_.dtype, [&]<typename T>() -> absl::Status {
    if constexpr (kIsReal<T>) {
      return Append(T(std::numeric_limits<float>::quiet_NaN()));
    } else {
      return Append(T());
    }
  });
}

void FieldColumn::DropRow() {
  int64_t count = rows_;
  const auto end_of = [](GrowingBytes& ends, int64_t place) {
    if (ends.size() == 0) return int64_t{0};
    ends.ShrinkTo((place + 1) * 8);
    int64_t end = 0;
    std::memcpy(&end, ends.data() + place * 8, sizeof(end));
    return end;
  };
  for (Axis& axis : axes_) {
    if (axis.size != core::kUnknownSize) {
      count *= axis.size;
    } else {
      count = axis.items = end_of(axis.ends, count);
    }
  }
  values_.ShrinkTo(is_text_ ? end_of(text_ends_, count) : count * value_bytes_);
}

absl::StatusOr<core::Buffer> FieldColumn::TakeEnds(GrowingBytes& ends) {
  if (ends.size() > 0) return ends.Take();
  core::Buffer none = TRY(pool_.AllocateFor<int64_t>(1));
  none.MutableAs<int64_t>()[0] = 0;
  return none;
}

absl::StatusOr<core::Column> FieldColumn::Take() {
  if (is_text_ && axes_.empty() && longest_ >= kLongTextBytes) return TakeLongTexts();
  core::Levels levels;
  for (Axis& axis : axes_) {
    axis.items = 0;
    levels.push_back(axis.size != core::kUnknownSize
                         ? core::Level::Fixed(axis.size)
                         : core::Level::Variable(TRY(TakeEnds(axis.ends))));
  }
  if (is_text_) levels.push_back(core::Level::Variable(TRY(TakeEnds(text_ends_))));
  return core::Column::FromLevels(spec_.dtype, std::exchange(rows_, 0),
                                  std::move(levels), values_.Take());
}

// Long texts each have a buffer, so that one row kept does not keep the others.
absl::StatusOr<core::Column> FieldColumn::TakeLongTexts() {
  const core::Buffer values = values_.Take();
  const core::Buffer ends = text_ends_.Take();
  const absl::Span<const int64_t> places = ends.As<int64_t>();
  TextColumn texts(spec_.dtype, pool_);
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t size = places[row + 1] - places[row];
    std::byte* const room = TRY(texts.RoomFor(size));
    if (size > 0) std::memcpy(room, values.data() + places[row], size);
    texts.Keep();
  }
  rows_ = 0;
  longest_ = 0;
  return texts.Take();
}

}  // namespace millrace::ops
