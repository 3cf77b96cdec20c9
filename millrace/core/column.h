// The values of one field for a run of rows. Everything a row can hold is described by
// *levels*, outermost first, each either of one fixed size or with offsets:
//
//   field               row shape    levels                values
//   label               []           -                     int64 × rows
//   thumbnail (dense)   [32, 32, 3]  fixed 32, 32, 3       uint8 × rows × 3072
//   tokens (ragged)     [?]          offsets               int32 × all tokens
//   jpeg (bytes)        []           offsets               the bytes of all rows
//   words               [?]          offsets, offsets      the bytes of all words
//   record (as read)    []           begins and ends       the bytes of a file
//   image (tensors)     [?, ?, 3]    -                     a tensor per row
//
// so that batching rows is adding a fixed level in front, whatever the rows are: no
// copy. Of `bytes` and `string` the innermost level is the extent of each text. A
// column is a handle over shared buffers: cheap to copy, slicing is O(1), read-only
// once made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/core/buffer.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::core {

struct Extent {
  int64_t begin = 0;
  int64_t end = 0;
};

// How many values of the next level one value of this level has.
struct Level {
  int64_t size = kUnknownSize;  // Fixed, or unknown: then `offsets` say.
  Buffer offsets;               // int64, one more than values at this level, at least.
  bool gaps = false;  // Values need not touch: offsets are begin and end of each.

  static Level Fixed(int64_t size) { return {.size = size, .offsets = {}}; }

  static Level Variable(Buffer offsets) {
    return {.size = kUnknownSize, .offsets = std::move(offsets)};
  }

  static Level WithGaps(Buffer places) {
    return {.size = kUnknownSize, .offsets = std::move(places), .gaps = true};
  }

  bool fixed() const { return size != kUnknownSize; }

  // Where the values [begin, end) of this level lie in the next, gaps included.
  Extent Below(Extent here) const;
};

using Levels = absl::InlinedVector<Level, 2>;
using Tensors = std::vector<Tensor>;

class Column {
 public:
  Column() = default;  // No rows of bool.

  // Values of a fixed-size type, every row of one shape.
  // Requires: the buffer holds exactly rows × row_shape of them.
  static Column Dense(DType dtype, int64_t rows, const Shape& row_shape, Buffer values);

  // One text per row. Requires: rows + 1 offsets, rising, inside `data`.
  static Column Texts(DType dtype, int64_t rows, Buffer offsets, Buffer data);

  // One text per row, still among the bytes where it was found. `places` are int64, the
  // begin and end of each, rising, inside `data`. Such a column keeps all of the data;
  // what groups, joins or reshapes its rows makes a copy without gaps first.
  static Column TextsWithGaps(DType dtype, int64_t rows, Buffer places, Buffer data);

  // Any levels above values. An error when buffers and levels do not fit together, so
  // that it can be called with what came from outside.
  static absl::StatusOr<Column> FromLevels(DType dtype, int64_t rows, Levels levels,
                                           Buffer values);

  // A tensor per row, of one type; shapes may differ.
  static Column OfTensors(DType dtype, Tensors tensors);

  // A column whose rows are all this one value. Copies it once per row.
  static absl::StatusOr<Column> Repeat(const Tensor& value, int64_t rows, Pool& pool);

  DType dtype() const { return dtype_; }

  int64_t rows() const { return rows_; }

  // The levels of a row's shape: of texts without the innermost, which is their extent.
  absl::Span<const Level> shape_levels() const;

  const Levels& levels() const { return levels_; }

  // Fixed-size values, all rows of one shape: `values()` is the whole column.
  bool IsDense() const;

  // Texts that need not touch; there are no other levels above them.
  bool HasGaps() const { return !levels_.empty() && levels_.back().gaps; }

  // A tensor per row; `levels()` then stand above the tensors.
  bool HoldsTensors() const { return tensors_ != nullptr; }

  // The tensors below the levels, numbered as the innermost level's offsets number
  // them. Requires: HoldsTensors().
  absl::Span<const Tensor> tensors() const;

  // The shape all rows have, when the levels alone say so.
  std::optional<Shape> row_shape() const;

  // Requires: not HoldsTensors().
  const Buffer& values() const { return values_; }

  // Requires: IsDense(), dtype() stores T.
  template <typename T>
  absl::Span<const T> As() const {
    CHECK_EQ(dtype_, kDTypeOf<T>);
    CHECK(IsDense());
    return values_.As<T>();
  }

  // Gives one row, without a copy. An error when the row is not rectangular.
  absl::StatusOr<Tensor> Row(int64_t row) const;

  // One row of texts without shape, the cheap way. Requires: texts, no shape levels.
  std::string_view TextAt(int64_t row) const;

  // Gives rows [begin, begin + rows), without a copy.
  Column Slice(int64_t begin, int64_t rows) const;

  // Groups each `size` rows into one, along a new leading axis, without a copy.
  // Requires: size > 0 divides rows(), not HasGaps(); so too Nest.
  Column Stack(int64_t size) const;

  // Groups rows by several levels at once, each of which may have groups of differing
  // size. Requires: the levels end where the rows end.
  Column Nest(int64_t rows, Levels levels) const;

  // Tells whether every row has a leading axis, so that it can be unstacked.
  bool HasLeadingAxis() const;

  // The size of one row's leading axis. Requires: HasLeadingAxis().
  int64_t LeadingSize(int64_t row) const;

  // Undoes Stack, also where the groups differ in size. Requires: HasLeadingAxis().
  Column Unstack() const;

  // What lies below the first level, numbered as that level's offsets number it:
  // Unstack without moving the first row to place 0. Requires: levels of shape.
  Column Below() const;

  // Bytes of content, shared or not.
  int64_t content_bytes() const;

  // Tells whether its values are in a pool's memory.
  bool pooled() const;

  // Stops counting its memory against the pool's budget: it now belongs to the user.
  void LeaveBudget() const;

 private:
  DType dtype_ = DType::kBool;
  int64_t rows_ = 0;
  Levels levels_;
  Buffer values_;
  std::shared_ptr<const Tensors> tensors_;
  int64_t first_tensor_ = 0;
};

// Tells whether two columns have the same rows, however they are laid out.
bool SameRows(const Column& a, const Column& b);

}  // namespace millrace::core
