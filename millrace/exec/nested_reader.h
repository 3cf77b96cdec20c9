// Reads what comes out of other passes one block after another, on one thread: how the
// sequential runner runs them, and so the definition of what NestedStage gives.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/kept_rows.h"
#include "millrace/exec/lane_reader.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ops/library.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {

class NestedReader final : private ops::Emitter {
 public:
  // Requires: library and pool outlive it.
  NestedReader(Inputs inputs, const ops::Library& library, core::Pool& pool);

  // Gives rows, or that a row was left out; nothing at the end. What came out before an
  // error is given before it.
  absl::StatusOr<std::optional<Item>> Next();

 private:
  absl::Status Emit(core::Block block) override;
  absl::Status EmitTail(int64_t key, core::Block rows) override;
  absl::Status Take(Item item);

  std::vector<LaneReader> inputs_;
  const std::unique_ptr<ops::Merger> merger_;
  SkippedRows to_skip_;
  const std::unique_ptr<Recorder> recorder_;
  std::function<void(bool any)> tell_ended_;
  std::deque<Item> ready_;
  bool ended_ = false;
  bool any_ = false;  // Rows were given.
};

}  // namespace millrace::exec
