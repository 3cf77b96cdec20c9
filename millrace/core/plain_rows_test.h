// Rows as plainly as C++ can say them: the model that columns are tested against, and
// random columns of every layout beside the rows they should hold. For tests only; what
// reads a column here looks at levels and buffers alone, not at what is being tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::core {

// A list, or a leaf: the bytes of one number or text.
struct Plain {
  bool is_list = false;
  std::string leaf;
  std::vector<Plain> list;

  static Plain Leaf(std::string bytes) {
    return {.is_list = false, .leaf = std::move(bytes), .list = {}};
  }

  static Plain List(std::vector<Plain> values) {
    return {.is_list = true, .leaf = {}, .list = std::move(values)};
  }

  friend bool operator==(const Plain& a, const Plain& b) {
    return a.is_list == b.is_list && a.leaf == b.leaf && a.list == b.list;
  }

  friend std::ostream& operator<<(std::ostream& out, const Plain& plain) {
    if (!plain.is_list) return out << absl::CHexEscape(plain.leaf);
    out << "[";
    for (const Plain& value : plain.list) out << value << " ";
    return out << "]";
  }
};

using PlainRows = std::vector<Plain>;

// A column and what it holds.
struct Sample {
  Column column;
  PlainRows rows;
};

inline Buffer BufferOf(const void* data, int64_t size) {
  return CopyBytes(data, size, HeapPool()).value();
}

template <typename T>
Buffer BufferOf(const std::vector<T>& values) {
  return BufferOf(values.data(), static_cast<int64_t>(values.size() * sizeof(T)));
}

inline std::string BytesAt(const Buffer& buffer, int64_t begin, int64_t size) {
  return std::string(buffer.text().substr(begin, size));
}

// Reads a tensor: `first` is the place of its first value, `axis` where we stand.
inline Plain ReadTensor(const Tensor& tensor, int axis = 0, int64_t first = 0) {
  if (axis == tensor.shape().rank()) {
    if (IsVariable(tensor.dtype()))
      return Plain::Leaf(std::string(tensor.TextAt(first)));
    const int64_t size = SizeOf(tensor.dtype());
    return Plain::Leaf(BytesAt(tensor.values(), first * size, size));
  }
  const int64_t size = tensor.shape()[axis];
  std::vector<Plain> parts;
  parts.reserve(size);
  for (int64_t i = 0; i < size; ++i) {
    parts.push_back(ReadTensor(tensor, axis + 1, first * size + i));
  }
  return Plain::List(std::move(parts));
}

// Reads the value at `place` of a level.
inline Plain ReadValue(const Column& column, size_t depth, int64_t place) {
  const bool texts = IsVariable(column.dtype()) && !column.HoldsTensors();
  if (depth == column.levels().size()) {
    if (column.HoldsTensors()) return ReadTensor(column.tensors()[place]);
    const int64_t size = SizeOf(column.dtype());
    return Plain::Leaf(BytesAt(column.values(), place * size, size));
  }
  const Level& level = column.levels()[depth];
  int64_t begin = place * level.size;
  int64_t end = begin + level.size;
  if (level.size == kUnknownSize) {
    const std::byte* const offsets =
        level.offsets.data() + place * (level.gaps ? 16 : 8);
    std::memcpy(&begin, offsets, 8);
    std::memcpy(&end, offsets + 8, 8);
  }
  if (texts && depth + 1 == column.levels().size()) {
    return Plain::Leaf(BytesAt(column.values(), begin, end - begin));
  }
  std::vector<Plain> values;
  for (int64_t i = begin; i < end; ++i) {
    values.push_back(ReadValue(column, depth + 1, i));
  }
  return Plain::List(std::move(values));
}

inline PlainRows ReadRows(const Column& column) {
  PlainRows rows;
  for (int64_t row = 0; row < column.rows(); ++row) {
    rows.push_back(ReadValue(column, 0, row));
  }
  return rows;
}

// The bytes of the leaves.
inline int64_t LeafBytes(absl::Span<const Plain> values) {
  int64_t bytes = 0;
  for (const Plain& value : values) {
    bytes += static_cast<int64_t>(value.leaf.size()) + LeafBytes(value.list);
  }
  return bytes;
}

// Builds the column of rows that fit `sizes`: one size per axis, or unknown.
inline Column BuildColumn(DType dtype, absl::Span<const int64_t> sizes,
                          const PlainRows& rows) {
  Levels levels;
  std::vector<Plain> values = rows;
  for (const int64_t size : sizes) {
    std::vector<Plain> below;
    std::vector<int64_t> offsets = {0};
    for (const Plain& value : values) {
      below.insert(below.end(), value.list.begin(), value.list.end());
      offsets.push_back(static_cast<int64_t>(below.size()));
    }
    levels.push_back(size == kUnknownSize ? Level::Variable(BufferOf(offsets))
                                          : Level::Fixed(size));
    values = std::move(below);
  }
  std::string bytes;
  std::vector<int64_t> offsets = {0};
  for (const Plain& value : values) {
    bytes += value.leaf;
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  if (IsVariable(dtype)) levels.push_back(Level::Variable(BufferOf(offsets)));
  return Column::FromLevels(dtype, static_cast<int64_t>(rows.size()), std::move(levels),
                            BufferOf(bytes.data(), static_cast<int64_t>(bytes.size())))
      .value();
}

// Texts with other bytes between them.
inline Column BuildWithGaps(DType dtype, const PlainRows& rows) {
  std::string bytes = "before";
  std::vector<int64_t> places;
  for (const Plain& row : rows) {
    places.push_back(static_cast<int64_t>(bytes.size()));
    bytes += row.leaf;
    places.push_back(static_cast<int64_t>(bytes.size()));
    bytes.append(places.size() % 3, '-');
  }
  return Column::TextsWithGaps(
      dtype, static_cast<int64_t>(rows.size()), BufferOf(places),
      BufferOf(bytes.data(), static_cast<int64_t>(bytes.size())));
}

inline void CollectLeaves(const Plain& value, std::vector<std::string>& leaves) {
  if (!value.is_list) leaves.push_back(value.leaf);
  for (const Plain& part : value.list) CollectLeaves(part, leaves);
}

inline Tensor BuildTensor(DType dtype, const Shape& shape, const Plain& value) {
  std::vector<std::string> leaves;
  CollectLeaves(value, leaves);
  if (IsVariable(dtype)) return Tensor::FromTexts(leaves, shape, dtype);
  std::string bytes;
  for (const std::string& leaf : leaves) bytes += leaf;
  return Tensor::Fixed(dtype, shape,
                       BufferOf(bytes.data(), static_cast<int64_t>(bytes.size())));
}

// How the rows of a sample are laid out.
enum class Layout : uint8_t { kDense, kRagged, kTensors, kStacked, kNested, kGaps };

inline constexpr Layout kAllLayouts[] = {Layout::kDense,   Layout::kRagged,
                                         Layout::kTensors, Layout::kStacked,
                                         Layout::kNested,  Layout::kGaps};

// Makes random samples; the same seed makes the same ones.
class RandomSamples {
 public:
  explicit RandomSamples(uint64_t seed)
      : random_(base::RandomKey(seed, 0, 0), base::Hash128{}) {}

  int64_t Below(int64_t end) { return random_.Integer(0, end); }

  DType AnyDType() { return kAllDTypes[Below(std::ssize(kAllDTypes))]; }

  // Some layout, for rows of this type and rank.
  Sample Any(DType dtype, int rank, int64_t rows) {
    return Of(kAllLayouts[Below(std::ssize(kAllLayouts))], dtype, rank, rows);
  }

  Sample Any() { return Any(AnyDType(), static_cast<int>(Below(4)), Below(7)); }

  // A layout that needs an axis becomes dense where there is none, one that needs
  // texts where there are none.
  Sample Of(Layout layout, DType dtype, int rank, int64_t rows) {
    const bool has_gaps = layout == Layout::kGaps && IsVariable(dtype) && rank == 0;
    if (has_gaps) return WithGaps(dtype, rows);
    if (rank == 0 && layout != Layout::kTensors) layout = Layout::kDense;
    switch (layout) {
      case Layout::kDense:
      case Layout::kRagged:
      case Layout::kGaps:
        return OfLevels(dtype, Sizes(rank, layout == Layout::kRagged), rows);
      case Layout::kTensors:
        return OfTensors(dtype, rank, rows);
      case Layout::kStacked:
        return Stacked(dtype, rank, rows);
      case Layout::kNested:
        return Nested(dtype, rank, rows);
    }
    __builtin_unreachable();
  }

  // Part of a larger sample, so that buffers and offsets begin before the first row.
  Sample Sliced(Layout layout, DType dtype, int rank, int64_t rows) {
    const int64_t before = Below(4);
    const Sample whole = Of(layout, dtype, rank, before + rows + Below(4));
    const auto first = whole.rows.begin() + before;
    return {whole.column.Slice(before, rows), PlainRows(first, first + rows)};
  }

  std::vector<int64_t> Sizes(int rank, bool ragged) {
    std::vector<int64_t> sizes;
    sizes.reserve(rank);
    for (int axis = 0; axis < rank; ++axis) {
      sizes.push_back(ragged && Below(2) == 0 ? kUnknownSize : Below(4));
    }
    return sizes;
  }

 private:
  std::string AnyLeaf(DType dtype) {
    std::string bytes(IsVariable(dtype) ? Below(12) : SizeOf(dtype), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(Below(dtype == DType::kBool ? 2 : 256));
    }
    return bytes;
  }

  // A value whose axes have these sizes, or any where unknown.
  Plain AnyValue(DType dtype, absl::Span<const int64_t> sizes) {
    if (sizes.empty()) return Plain::Leaf(AnyLeaf(dtype));
    const int64_t size = sizes[0] == kUnknownSize ? Below(4) : sizes[0];
    std::vector<Plain> list;
    list.reserve(size);
    for (int64_t i = 0; i < size; ++i) {
      list.push_back(AnyValue(dtype, sizes.subspan(1)));
    }
    return Plain::List(std::move(list));
  }

  Sample OfLevels(DType dtype, const std::vector<int64_t>& sizes, int64_t rows) {
    PlainRows plain;
    for (int64_t i = 0; i < rows; ++i) plain.push_back(AnyValue(dtype, sizes));
    return {BuildColumn(dtype, sizes, plain), plain};
  }

  Sample WithGaps(DType dtype, int64_t rows) {
    PlainRows plain;
    for (int64_t i = 0; i < rows; ++i) plain.push_back(Plain::Leaf(AnyLeaf(dtype)));
    return {BuildWithGaps(dtype, plain), plain};
  }

  // What can be grouped without a copy.
  Sample AnyGroupable(DType dtype, int rank, int64_t rows) {
    const Sample any = Any(dtype, rank, rows);
    return any.column.HasGaps() ? OfLevels(dtype, {}, rows) : any;
  }

  Sample OfTensors(DType dtype, int rank, int64_t rows) {
    Tensors tensors;
    PlainRows plain;
    for (int64_t i = 0; i < rows; ++i) {
      const std::vector<int64_t> sizes = Sizes(rank, false);
      plain.push_back(AnyValue(dtype, sizes));
      tensors.push_back(BuildTensor(dtype, Shape(sizes), plain.back()));
    }
    return {Column::OfTensors(dtype, std::move(tensors)), plain};
  }

  // Groups of one size, over any layout of one rank less.
  Sample Stacked(DType dtype, int rank, int64_t rows) {
    const int64_t size = 1 + Below(3);
    const Sample inside = AnyGroupable(dtype, rank - 1, rows * size);
    return {inside.column.Stack(size),
            Grouped(inside.rows, std::vector<int64_t>(rows, size))};
  }

  // Groups of differing sizes.
  Sample Nested(DType dtype, int rank, int64_t rows) {
    std::vector<int64_t> sizes;
    std::vector<int64_t> offsets = {0};
    for (int64_t i = 0; i < rows; ++i) {
      sizes.push_back(Below(4));
      offsets.push_back(offsets.back() + sizes.back());
    }
    const Sample inside = AnyGroupable(dtype, rank - 1, offsets.back());
    return {inside.column.Nest(rows, {Level::Variable(BufferOf(offsets))}),
            Grouped(inside.rows, sizes)};
  }

  static PlainRows Grouped(const PlainRows& rows, const std::vector<int64_t>& sizes) {
    PlainRows groups;
    auto next = rows.begin();
    for (const int64_t size : sizes) {
      groups.push_back(Plain::List(std::vector<Plain>(next, next + size)));
      next += size;
    }
    return groups;
  }

  base::Generator random_;
};

}  // namespace millrace::core
