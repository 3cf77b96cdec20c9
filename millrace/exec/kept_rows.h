// The rows that a cache keeps: which there may be, how they are written while a pass
// computes them, and how a later pass reads them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/pool.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"
#include "millrace/storage/entries.h"

namespace millrace::exec {

// The entries of one cache, by split of the source that it is.
struct KeptRows {
  std::string name;  // Of the operator, for messages.
  std::shared_ptr<storage::Entries> entries;
  std::vector<storage::EntryKey> keys;
  std::atomic<bool> gave_up = false;  // To keep more, for lack of room.

  bool Has(int64_t split) const { return entries->Has(keys[split]); }
};

// Writes the rows of a split down as they come by, and keeps them once all came. Where
// there is no room for them, or rows were left out, nothing is kept and nothing is
// wrong: they are computed again then, and what was left out is counted again. One
// thread uses it.
class Recorder {
 public:
  // Requires: the pool outlives it.
  Recorder(std::shared_ptr<KeptRows> kept, int64_t split, core::Pool& pool);

  void Add(const Item& item);

  // All have come.
  void End();

 private:
  absl::Status Write(const core::Block& block);
  absl::Status Begin();
  void GiveUp(const absl::Status& why);

  const std::shared_ptr<KeptRows> kept_;
  const int64_t split_;
  core::Pool& pool_;
  std::unique_ptr<storage::EntryWriter> writer_;
  bool dropped_ = false;
};

// The source of what is kept: its splits are the cache's.
class KeptSource final : public ops::Source {
 public:
  // Requires: the pool outlives it.
  KeptSource(std::shared_ptr<KeptRows> kept, core::Pool& pool)
      : kept_(std::move(kept)), pool_(pool) {}

  absl::StatusOr<lanes::Manifest> List() override;

  bool waits() const override { return kept_->entries->waits(); }

  absl::StatusOr<std::unique_ptr<ops::Reader>> Open(
      const lanes::RowRange& rows) const override;

 private:
  const std::shared_ptr<KeptRows> kept_;
  core::Pool& pool_;
};

}  // namespace millrace::exec
