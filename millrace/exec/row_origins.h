// Where rows come from, for who looks into a few of them: from identities back to
// files, by way of what operators note of the rows they make (ops/origins.h).
//
//   planner: AddSource ──┐
//   operators: Note ─────┴─► PlacesOf(identities): file, row, byte and key of each
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/mutex.h"
#include "millrace/core/block.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/origins.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

// Thread-safe.
class RowOrigins final : public ops::Origins {
 public:
  // Keeps all that is noted.
  RowOrigins() = default;

  // Keeps what was noted last, of about so many rows: enough to name one that is wrong
  // while it is still on its way, and cheap enough for every pass.
  explicit RowOrigins(size_t recent_rows_max) : recent_rows_max_(recent_rows_max) {}

  // Rows of a source, which has these splits, have identities with this number.
  void AddSource(int64_t call_number, std::shared_ptr<const ops::Source> source,
                 const lanes::Manifest& manifest);

  void Note(ops::MadeRows rows) override;

  // Says what people know a row by: "row 17 of a.txt"; of one that was made of others,
  // each of those. Empty where nothing tells.
  std::vector<std::string> NamesOf(const core::RowId& id) const;

  // Gives for each row the places of all source rows that it was made of. An error
  // where somebody made it and noted nothing.
  absl::StatusOr<std::vector<std::vector<ops::RowPlace>>> PlacesOf(
      absl::Span<const core::RowId> ids) const;

 private:
  struct Known {
    std::shared_ptr<const ops::Source> source;
    std::vector<std::string> splits;  // Their names.
  };

  // The number of the source that a row is of, and which row it is.
  std::optional<std::pair<int64_t, ops::SourceRow>> Find(const core::RowId& id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::string NameOfSourceRow(int64_t number, const ops::SourceRow& row) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The rows that a row was made of; none where nobody noted it.
  absl::Span<const core::RowId> MadeOf(const core::RowId& id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The source rows that a row was made of, appended.
  void Trace(const core::RowId& id, std::vector<core::RowId>& rows) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The places of source rows: each file is gone through once.
  absl::StatusOr<std::map<core::RowId, ops::RowPlace>> PlacesOfSourceRows(
      const std::vector<core::RowId>& ids) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable base::Mutex mutex_;
  std::map<int64_t, Known> sources_ ABSL_GUARDED_BY(mutex_);
  const std::optional<size_t> recent_rows_max_ = std::nullopt;
  size_t noted_rows_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<ops::MadeRows> noted_ ABSL_GUARDED_BY(mutex_);
  // Where each row stands in `noted_`, where all is kept.
  std::map<core::RowId, std::pair<size_t, size_t>> places_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace::exec
