// Collects rows into a block. Each text is written once, into the room it is given:
// short ones stand side by side in the block's own buffer, long ones each in a buffer
// of its own, so that a row kept in a shuffle window never holds on to others.
// Single-threaded; holds one block.
//
//   room = TRY(rows.RoomFor(field, size));   // fill it, then
//   TRY(rows.EndRow(number));                // or rows.DropRow()
//   block = TRY(rows.TakeBlock());
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

// Texts at least this long have a buffer of their own.
inline constexpr int64_t kLongTextBytes = 32 << 10;

// A block is full with so many rows, or so many bytes.
inline constexpr int64_t kBlockRows = 16384;
inline constexpr int64_t kBlockBytes = 2 << 20;

// The texts of one field.
class TextColumn {
 public:
  TextColumn(core::DType dtype, core::Pool& pool) : dtype_(dtype), pool_(pool) {}

  absl::StatusOr<std::byte*> RoomFor(int64_t size);

  // Takes a buffer as the text, without a copy.
  void Adopt(core::Buffer text);

  // Texts of so many bytes, and so many of them, will come.
  void Expect(int64_t texts, int64_t bytes) {
    ends_.reserve(texts);
    expected_bytes_ = bytes;
  }

  // The text that room was given for last.
  std::string_view last() const;

  void Keep();
  void Drop();

  // Gives the texts kept. Requires: none is being written.
  absl::StatusOr<core::Column> Take();

 private:
  absl::Status Reserve(int64_t size);
  absl::StatusOr<core::Column> SideBySide();
  absl::StatusOr<core::Column> EachForItself();

  const core::DType dtype_;
  core::Pool& pool_;
  // First those that stand side by side, by their ends; then, from the first long one
  // on, those that each have a buffer.
  core::Buffer shared_;
  std::vector<int64_t> ends_;
  std::vector<core::Buffer> own_;

  bool writing_ = false;
  bool writing_own_ = false;
  int64_t last_begin_ = 0;  // Of the text being written, in the shared buffer.
  int64_t last_end_ = 0;
  core::Buffer last_own_;

  int64_t expected_bytes_ = 64 << 10;  // Of the next block, by the last one.
  bool expects_long_ = false;          // The block before had long ones.
};

class RowBuilder {
 public:
  // Requires: fields of bytes, string or int64, without shape.
  RowBuilder(const core::Spec& spec, const SourceContext& context);

  // Gives room for one field's text of the row that is being built; an int64 is given
  // as text too. Null where there is nothing to write: the field is wrong anyway.
  absl::StatusOr<std::byte*> RoomFor(int field, int64_t size);

  // Takes a buffer as a field's text, without a copy; false where that cannot be done.
  bool Adopt(int field, const core::Buffer& text);

  // So many rows, and bytes of a field, will come.
  void Expect(int64_t rows) { numbers_.reserve(rows); }

  void ExpectBytes(int field, int64_t bytes) {
    fields_[field].texts.Expect(static_cast<int64_t>(numbers_.capacity()), bytes);
  }

  // Copies a text in.
  absl::Status Put(int field, std::string_view text);

  void PutNumber(int field, int64_t number) { fields_[field].number = number; }

  // Ends the row, which has this number in its split. DataLoss when a text is not what
  // its type says; the row is then dropped. Requires: all its fields were written.
  absl::Status EndRow(int64_t number);

  void DropRow();

  bool is_full() const {
    return std::ssize(numbers_) >= kBlockRows || bytes_ >= kBlockBytes;
  }

  int64_t rows() const { return std::ssize(numbers_); }

  // Gives the rows, perhaps none, with their identities where somebody needs them.
  absl::StatusOr<core::Block> TakeBlock(int64_t split);

 private:
  struct Field {
    core::FieldSpec spec;
    TextColumn texts;
    std::vector<int64_t> numbers;
    int64_t number = 0;
    std::string digits;
    bool has_digits = false;
  };

  absl::Status Check(Field& field);

  const SourceContext context_;
  std::shared_ptr<const core::FieldNames> names_;
  std::vector<Field> fields_;
  std::vector<int64_t> numbers_;  // Of the rows, in the split.
  int64_t bytes_ = 0;
  int64_t row_bytes_ = 0;
};

// Reads a whole number, as WebDataset does: digits with a sign, spaces around them.
bool ParseInteger(std::string_view text, int64_t* number);

}  // namespace millrace::ops
