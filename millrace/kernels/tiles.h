// Large rows taken apart into tiles: where an expression works on each value by itself,
// as sums and casts do, it can be computed for some thousand values after the other.
// What one term hands to the next then stays in the cache, which main memory takes
// several times as long for. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "millrace/core/block.h"
#include "millrace/core/shape.h"
#include "millrace/ir/expression.h"

namespace millrace::kernels {

// Rows as far as an expression looks at them: every value is one.
struct FlatRows {
  core::Block values;
  core::Shape row_shape;  // That all its fields have, and all it computes.
  int64_t tile_rows = 0;  // So many at a time.
};

// Takes rows apart; nothing where that is not possible, or not worth it: an expression
// that looks at more than one value at a time, rows of several shapes, and what is in
// the cache anyway.
std::optional<FlatRows> Flatten(const ir::Expression& expression,
                                const core::Block& rows);

}  // namespace millrace::kernels
