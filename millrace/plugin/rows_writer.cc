#include "millrace/plugin/rows_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/base/utf8.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/plugin/c_values.h"
#include "millrace/plugin/millrace_plugin.h"

namespace millrace::plugin {
namespace {

constexpr int64_t kRoomBytes = 4096;  // Enough for most rows of texts.

// A text among the bytes of a row.
std::string_view TextAt(const core::Buffer& values, absl::Span<const int64_t> offsets,
                        size_t i) {
  return values.text().substr(offsets[i], offsets[i + 1] - offsets[i]);
}

}  // namespace

absl::StatusOr<RowsWriter> RowsWriter::Open(const ir::ValueType& type, int64_t rows,
                                            core::Pool& pool,
                                            const core::Buffer* into) {
  RowsWriter writer(type, rows, pool);
  if (!type.shape.IsKnown()) return writer;
  const int64_t count = TRY(type.shape.WithLeading(rows).CountChecked());
  if (core::IsVariable(type.dtype)) {
    writer.texts_ = TRY(kernels::ValueWriter::Open(type.dtype, count, pool));
    return writer;
  }
  const int64_t bytes = count * core::SizeOf(type.dtype);
  if (into != nullptr) CHECK_EQ(into->size(), bytes);
  writer.dense_ = into != nullptr ? *into : TRY(pool.Allocate(bytes));
  return writer;
}

absl::Status RowsWriter::Allocate(MillraceRoom& room) {
  TRY(TakeLast());
  if (allocated_ == rows_) {
    return Breach(base::StrCat("asks for room for more than ", rows_, " rows"));
  }
  shape_ = TRY(ShapeFromC(room.rank, room.sizes));
  if (!shape_.IsKnown() || !type_.shape.Admits(shape_)) {
    return Breach(base::StrCat("gives a value of shape ", shape_.ToString(),
                               ", which is not the type that it promised, ",
                               ir::ToString(type_)));
  }
  const absl::StatusOr<int64_t> count = shape_.CountChecked();
  if (!count.ok()) return Breach(base::ToStd(count.status().message()));
  room.offsets = nullptr;
  TRY(core::IsVariable(type_.dtype) ? AllocateTexts(*count, room)
                                    : AllocateValues(*count, room));
  ++allocated_;
  writing_ = true;
  return absl::OkStatus();
}

absl::Status RowsWriter::AllocateValues(int64_t count, MillraceRoom& room) {
  const int64_t bytes = count * core::SizeOf(type_.dtype);
  values_ = type_.shape.IsKnown() ? dense_.Slice(allocated_ * bytes, bytes)
                                  : TRY(pool_->Allocate(bytes));
  room.data = values_.mutable_data();
  return absl::OkStatus();
}

// Texts that go behind each other are copied: the room of one row serves the next.
absl::StatusOr<core::Buffer> RowsWriter::TakeRoom(int64_t bytes, core::Buffer& room) {
  if (!texts_) return pool_->Allocate(bytes);
  if (room.size() < bytes) room = TRY(pool_->Allocate(std::max(bytes, kRoomBytes)));
  return room.Slice(0, bytes);
}

absl::Status RowsWriter::AllocateTexts(int64_t count, MillraceRoom& room) {
  if (room.text_bytes < 0) {
    return Breach(base::StrCat("asks for room for ", room.text_bytes, " bytes"));
  }
  values_ = TRY(TakeRoom(room.text_bytes, text_room_));
  offsets_ =
      TRY(TakeRoom((count + 1) * static_cast<int64_t>(sizeof(int64_t)), offset_room_));
  room.data = values_.mutable_data();
  room.offsets = offsets_.MutableAs<int64_t>().data();
  return absl::OkStatus();
}

absl::Status RowsWriter::TakeLast() {
  if (!std::exchange(writing_, false)) return absl::OkStatus();
  if (core::IsVariable(type_.dtype)) return TakeTexts();
  const auto is_bool = [](uint8_t value) { return value <= 1; };
  if (type_.dtype == core::DType::kBool &&
      !std::ranges::all_of(values_.As<uint8_t>(), is_bool)) {
    return Breach("gives a bool that is neither 0 nor 1");
  }
  if (type_.shape.IsKnown()) return absl::OkStatus();
  tensors_.push_back(core::Tensor::Fixed(type_.dtype, shape_, std::move(values_)));
  return absl::OkStatus();
}

absl::Status RowsWriter::CheckTexts(absl::Span<const int64_t> offsets) const {
  if (offsets.front() != 0 || offsets.back() != values_.size() ||
      !std::ranges::is_sorted(offsets)) {
    return Breach(base::StrCat("gives offsets that do not rise from 0 to the ",
                               values_.size(), " bytes it asked for"));
  }
  if (type_.dtype != core::DType::kString) return absl::OkStatus();
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (base::IsUtf8(TextAt(values_, offsets, i))) continue;
    return Breach("gives a string that is not UTF-8; bytes may be any");
  }
  return absl::OkStatus();
}

absl::Status RowsWriter::TakeTexts() {
  const absl::Span<const int64_t> offsets = offsets_.As<int64_t>();
  TRY(CheckTexts(offsets));
  if (!texts_) {
    tensors_.push_back(core::Tensor::Texts(type_.dtype, shape_, std::move(offsets_),
                                           std::move(values_)));
    return absl::OkStatus();
  }
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    texts_->AddText(TextAt(values_, offsets, i));
  }
  return absl::OkStatus();
}

absl::StatusOr<core::Column> RowsWriter::ToColumn() && {
  TRY(TakeLast());
  if (allocated_ != rows_) {
    return Breach(
        base::StrCat("gives values for ", allocated_, " of ", rows_, " rows"));
  }
  if (texts_) return (*std::move(texts_)).ToColumn(rows_, type_.shape);
  if (!type_.shape.IsKnown()) {
    return core::FromRows(type_.dtype, std::move(tensors_), *pool_);
  }
  return core::Column::Dense(type_.dtype, rows_, type_.shape, std::move(dense_));
}

}  // namespace millrace::plugin
