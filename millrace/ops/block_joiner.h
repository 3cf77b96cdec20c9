// Joins short blocks on their way into a file: each costs something there. One thread
// uses it.
//
//   if (std::optional<core::Block> rows = TRY(joiner.Add(block)))
//   TRY(file.Append(*rows)); if (std::optional<core::Block> rows = TRY(joiner.Rest()))
//   TRY(file.Append(*rows));
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"

namespace millrace::ops {

class BlockJoiner {
 public:
  // Requires: the pool outlives it.
  explicit BlockJoiner(core::Pool& pool) : pool_(pool) {}

  // Takes rows, and gives all it has once these are enough to be written.
  absl::StatusOr<std::optional<core::Block>> Add(core::Block block);

  // Gives what is left; nothing where that has no rows.
  absl::StatusOr<std::optional<core::Block>> Rest();

 private:
  core::Pool& pool_;
  std::vector<core::Block> waiting_;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace millrace::ops
