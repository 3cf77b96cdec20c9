// The shape of one value: sizes along its axes, outermost first. In specs a size, or
// the number of axes, may be unknown until the data is there. Cheap to copy up to four
// axes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace::core {

// A size that is not known, or differs from row to row.
inline constexpr int64_t kUnknownSize = -1;

class Shape {
 public:
  Shape() = default;  // A scalar.

  Shape(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}

  explicit Shape(absl::Span<const int64_t> sizes)
      : sizes_(sizes.begin(), sizes.end()) {}

  // A shape of which not even the number of axes is known.
  static Shape Unranked();

  bool ranked() const { return ranked_; }

  // Requires: ranked(), here and below.
  int rank() const { return static_cast<int>(sizes_.size()); }

  int64_t operator[](int axis) const { return sizes_[axis]; }

  absl::Span<const int64_t> sizes() const { return sizes_; }

  bool is_scalar() const { return ranked_ && sizes_.empty(); }

  // Tells whether every size is known.
  bool IsKnown() const;

  // Counts the values. Requires: IsKnown(). An absurd product is an error, not a wrap.
  absl::StatusOr<int64_t> CountChecked() const;
  int64_t Count() const;

  // Tells whether a value of shape `other` is also one of this shape.
  bool Admits(const Shape& other) const;

  Shape WithLeading(int64_t size) const;  // One axis more, in front.
  Shape WithoutLeading() const;           // Requires: rank() > 0, or unranked.

  // "[2, ?, 3]"; "[]" for a scalar; "[...]" when unranked.
  std::string ToString() const;

  friend bool operator==(const Shape&, const Shape&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Shape& shape);

 private:
  absl::InlinedVector<int64_t, 4> sizes_;
  bool ranked_ = true;
};

// Gives the shape that NumPy's broadcasting gives; unknown sizes stay unknown unless
// the other side decides. Nothing when the two cannot meet.
std::optional<Shape> Broadcast(const Shape& a, const Shape& b);

// Gives the closest shape that admits both.
Shape Join(const Shape& a, const Shape& b);

}  // namespace millrace::core
