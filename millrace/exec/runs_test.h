// For tests: runs pipelines given as text, and gives what came out as plain numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/pool.h"
#include "millrace/exec/sequential_runner.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

inline ir::Pipeline MustParse(std::string_view text) {
  absl::StatusOr<ir::Pipeline> pipeline =
      ir::Parse(text, {}, ops::DefaultLibrary().catalog());
  CHECK(pipeline.ok()) << pipeline.status() << "\n" << std::string(text);
  return *std::move(pipeline);
}

inline rewrite::Rewritten AsWritten(std::string_view text) {
  return rewrite::Unchanged(MustParse(text));
}

// Runs a whole pass.
inline absl::StatusOr<std::vector<core::Block>> RunAll(
    const rewrite::Rewritten& pipeline, const PassOptions& options = {}) {
  SequentialRunner runner =
      TRY(SequentialRunner::Open(pipeline, ops::DefaultLibrary(), options));
  std::vector<core::Block> blocks;
  while (std::optional<core::Block> block = TRY(runner.Next())) {
    blocks.push_back(*std::move(block));
  }
  return blocks;
}

inline absl::StatusOr<std::vector<core::Block>> RunAll(
    const ir::Pipeline& pipeline, const PassOptions& options = {}) {
  return RunAll(rewrite::Unchanged(pipeline), options);
}

inline std::vector<core::Block> MustRun(std::string_view text,
                                        const PassOptions& options = {}) {
  absl::StatusOr<std::vector<core::Block>> blocks = RunAll(MustParse(text), options);
  CHECK(blocks.ok()) << blocks.status();
  return *std::move(blocks);
}

// All blocks as one; batches taken apart `unstack` times.
inline core::Block Joined(std::vector<core::Block> blocks, int unstack = 0) {
  if (blocks.empty()) return {};
  for (core::Block& block : blocks) {
    for (int i = 0; i < unstack; ++i) block = *block.Unstack();
  }
  absl::StatusOr<core::Block> joined = core::Concatenate(blocks, core::HeapPool());
  CHECK(joined.ok()) << joined.status();
  return *std::move(joined);
}

// One field's values, over all rows.
template <typename T>
std::vector<T> Values(const core::Block& block, std::string_view field) {
  if (block.rows() == 0) return {};
  const core::Column* column = block.Find(field);
  CHECK(column != nullptr) << std::string(field);
  const absl::Span<const T> values = column->As<T>();
  return {values.begin(), values.end()};
}

}  // namespace millrace::exec
