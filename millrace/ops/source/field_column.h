// Collects the values of one field, row by row, from texts: numbers are read, texts
// copied, arrays entered axis by axis. Single-threaded; holds one block's worth. What
// is wrong with a value is DataLoss that says what was found; the row is then dropped.
//
//   TRY(column.PutNumber("12"));                            // int64
//   TRY(column.PutText("a")); TRY(column.EndAxis(0, 1));    // string[?]
//   column.EndRow();                                        // or DropRow()
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"

namespace millrace::ops {

// Bytes that grow at their end.
class GrowingBytes {
 public:
  explicit GrowingBytes(core::Pool& pool) : pool_(&pool) {}

  int64_t size() const { return size_; }

  const std::byte* data() const { return buffer_.data(); }

  bool HasRoom(int64_t more) const { return buffer_.size() - size_ >= more; }

  // Behind all bytes. Requires: there is room.
  std::byte* room() { return buffer_.mutable_data() + size_; }

  // Gives room for so many bytes more; what is used of it is then added.
  absl::StatusOr<std::byte*> RoomFor(int64_t more) {
    if (!HasRoom(more)) {
      absl::Status grown = Grow(more);
      if (!grown.ok()) return grown;
    }
    return buffer_.mutable_data() + size_;
  }

  void Add(int64_t size) { size_ += size; }

  void ShrinkTo(int64_t size) { size_ = size; }

  // So many bytes will probably come in all.
  void Expect(int64_t bytes) { expected_ = bytes; }

  core::Buffer Take();

 private:
  absl::Status Grow(int64_t more);

  core::Pool* pool_;
  core::Buffer buffer_;
  int64_t size_ = 0;
  int64_t expected_ = 0;
};

class FieldColumn {
 public:
  // For about so many rows. Requires: a shape with a rank.
  FieldColumn(const core::FieldSpec& spec, int64_t rows, core::Pool& pool);

  const core::FieldSpec& spec() const { return spec_; }

  bool holds_texts() const { return is_text_; }

  bool holds_integers() const { return is_integer_; }

  int rank() const { return static_cast<int>(axes_.size()); }

  // Appends a value of a field without shape, or the next one of the innermost axis.
  absl::Status PutNumber(std::string_view text) {
    return is_text_ ? PutText(text) : (this->*append_number_)(text);
  }

  absl::Status PutBool(bool value);

  absl::Status PutText(std::string_view text) {
    const auto size = static_cast<int64_t>(text.size());
    const bool has_room = values_.HasRoom(size) && text_ends_.HasRoom(sizeof(int64_t));
    if (!is_text_ || size == 0 || !has_room || text_ends_.size() == 0) {
      return PutAnyText(text);
    }
    std::memcpy(values_.room(), text.data(), text.size());
    values_.Add(size);
    longest_ = std::max(longest_, size);
    const int64_t end = values_.size();
    std::memcpy(text_ends_.room(), &end, sizeof(end));
    text_ends_.Add(sizeof(end));
    return absl::OkStatus();
  }

  // Gives room for a text of at most so many bytes, and appends what was written there.
  absl::StatusOr<char*> RoomForText(int64_t size_max);
  absl::Status EndText(int64_t size);

  // An array is over, along an axis, after so many items.
  absl::Status EndAxis(int axis, int64_t items);

  // Appends what stands for a value that is missing: 0, of floats NaN, of texts an
  // empty one, of axes of no known size none.
  absl::Status PutDefault() { return PutDefaultBelow(0); }

  void EndRow() { ++rows_; }

  // Forgets what came since the last row.
  void DropRow();

  // Gives the rows, and begins anew.
  absl::StatusOr<core::Column> Take();

 private:
  struct Axis {
    int64_t size = core::kUnknownSize;  // Else its ends are told.
    GrowingBytes ends;
    int64_t items = 0;  // All that came along it.
  };

  absl::Status PutAnyText(std::string_view text);
  absl::Status PutDefaultBelow(int axis);
  static absl::Status PutEnd(GrowingBytes& ends, int64_t end);
  absl::StatusOr<core::Buffer> TakeEnds(GrowingBytes& ends);
  absl::StatusOr<core::Column> TakeLongTexts();

  template <typename T>
  absl::Status Append(T value);
  template <typename T>
  absl::Status AppendNumber(std::string_view text);

  const core::FieldSpec spec_;
  const bool is_text_;
  const bool is_integer_;
  // Of the field's type, so that it is looked up once.
  absl::Status (FieldColumn::*append_number_)(std::string_view text) = nullptr;
  const int64_t value_bytes_;
  const int64_t rows_expected_;
  core::Pool& pool_;
  int64_t rows_ = 0;
  std::vector<Axis> axes_;
  GrowingBytes values_;     // Of texts, their bytes.
  GrowingBytes text_ends_;  // Of texts.
  int64_t longest_ = 0;     // Text.
};

// A text as it is shown in an error: shortened, in quotes.
std::string Shown(std::string_view text);

}  // namespace millrace::ops
