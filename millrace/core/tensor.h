// One value: a type, a shape and the numbers or texts in row-major order. What a row
// has under one field name, and what a literal is. A handle over shared buffers: cheap
// to copy, read-only once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/core/buffer.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"

namespace millrace::core {

class Tensor {
 public:
  Tensor() = default;  // No values of bool, along one axis.

  // Values of a fixed-size type. Requires: the buffer holds exactly shape.Count() of
  // them.
  static Tensor Fixed(DType dtype, Shape shape, Buffer values);

  // Texts. Requires: `offsets` are int64, one more than there are texts, rising, inside
  // `data`.
  static Tensor Texts(DType dtype, Shape shape, Buffer offsets, Buffer data);

  // A scalar, in memory of its own.
  template <typename T>
  static Tensor Scalar(T value) {
    return FromValues<T>(absl::MakeConstSpan(&value, 1), Shape());
  }

  static Tensor Text(std::string_view text, DType dtype = DType::kString);

  // A copy of values, in memory of its own. Requires: as many as the shape says.
  template <typename T>
  static Tensor FromValues(absl::Span<const T> values, Shape shape) {
    CHECK_EQ(values.size(), shape.Count());
    return CopyOf(kDTypeOf<T>, std::move(shape), values.data());
  }

  static Tensor FromTexts(absl::Span<const std::string> texts, Shape shape,
                          DType dtype = DType::kString);

  DType dtype() const { return dtype_; }

  const Shape& shape() const { return shape_; }

  int64_t count() const { return count_; }

  // The bytes of the values; of texts, all the bytes that the offsets point into.
  const Buffer& values() const { return values_; }

  const Buffer& offsets() const { return offsets_; }

  // Requires: dtype() stores T.
  template <typename T>
  absl::Span<const T> As() const {
    CHECK_EQ(dtype_, kDTypeOf<T>);
    return values_.As<T>();
  }

  // Requires: texts, 0 <= index < count().
  std::string_view TextAt(int64_t index) const;

  // Gives the part at one index of the leading axis, without a copy.
  // Requires: shape().rank() > 0, 0 <= index < shape()[0].
  Tensor Part(int64_t index) const;

  // Bytes of content.
  int64_t content_bytes() const;

  // "uint8[2, 3] [1, 2, 3, 4, 5, 6]"; many values and long texts are shortened.
  std::string ToString() const;

  // Same type, shape and values, bit for bit.
  friend bool operator==(const Tensor& a, const Tensor& b);

 private:
  static Tensor CopyOf(DType dtype, Shape shape, const void* values);

  DType dtype_ = DType::kBool;
  Shape shape_ = {0};
  int64_t count_ = 0;
  Buffer values_;
  Buffer offsets_;
};

// Copies bytes into a new buffer.
absl::StatusOr<Buffer> CopyBytes(const void* data, int64_t size, Pool& pool);

// Prints one value of a fixed-size type as the text form does: shortest digits that
// read back as the same value; bytes of texts are quoted elsewhere.
std::string PrintValue(DType dtype, const std::byte* value);

}  // namespace millrace::core
