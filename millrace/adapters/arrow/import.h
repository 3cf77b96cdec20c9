// Turns Arrow arrays into columns. Numbers, the bytes of texts and offsets of 64 bits
// stay where they are, kept by the array's owner; narrower offsets, bits and what has
// nulls in it are copied. Nulls become the default of their type (0, NaN, an empty text
// or list) and are told. What is decoded is checked as far as columns need it: broken
// arrays are DataLoss. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/adapters/arrow/fields.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"

namespace millrace::arrow {

// One for each row, or none at all where every one is 0.
using Flags = std::vector<uint8_t>;

struct Imported {
  core::Column column;
  Flags nulls;  // Rows with a null in them, at any depth.
};

// An array that is released when nobody uses it any more.
using SharedArray = std::shared_ptr<const ArrowArray>;

// Takes an array over.
SharedArray Share(const ArrowArray& array);

// Gives all rows of a leaf. Requires: the array's buffers are as long as its type, its
// length and its offsets ask for.
absl::StatusOr<Imported> Import(const SharedArray& array, const Leaf& leaf,
                                core::Pool& pool);

}  // namespace millrace::arrow
