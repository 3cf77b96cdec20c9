// Reads rows out of a run of frames, a frame at a time: what caches keep, and what was
// saved.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"
#include "millrace/storage/frame_run.h"

namespace millrace::ops {

// Frames that are opened when they are first needed.
struct FramesToRead {
  std::function<absl::StatusOr<std::unique_ptr<storage::FrameRun>>()> open;
  bool waits = true;  // Opening and reading wait for disks.
};

class FrameReader final : public Reader {
 public:
  // Requires: the pool outlives it.
  FrameReader(FramesToRead from, const lanes::RowRange& rows, core::Pool& pool);

  absl::Status Fetch() override;
  absl::StatusOr<bool> FetchNow() override;
  absl::StatusOr<std::optional<core::Block>> Next(BadRows& bad_rows) override;

  // The place of the next row to be given.
  int64_t next_row() const;

 private:
  absl::Status Begin();
  absl::Status MakeRoom();
  bool ended() const;
  absl::Status Named(const absl::Status& status) const;

  const FramesToRead from_;
  const lanes::RowRange rows_;
  core::Pool& pool_;
  std::unique_ptr<storage::FrameRun> run_;
  int64_t frame_ = 0;     // The next one, ...
  int64_t row_ = 0;       // ... its first row, ...
  core::Buffer bytes_;    // ... and its bytes, ...
  bool fetched_ = false;  // ... once they are there.
};

}  // namespace millrace::ops
