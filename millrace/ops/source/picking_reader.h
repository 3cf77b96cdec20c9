// Reads rows that stand here and there, in an order of its own: how rows are shuffled
// before they are read. They are read in the order they stand in, each run by a reader
// of its own, and put in order then; so it holds all its rows at once, and is given
// few.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

class PickingReader final : public FindingReader {
 public:
  // Requires: the source, which is of seekable splits, and the pool outlive it.
  PickingReader(const Source& source, const RowRanges& ranges, core::Pool& pool);

  // Reads all rows.
  absl::Status Fetch() override;
  absl::StatusOr<bool> FetchNow() override;
  absl::StatusOr<std::optional<FoundWork>> Find() override;

  // What became of a row.
  struct Picked {
    core::Block row;
    std::optional<BadRow> bad = {};
  };

 private:
  class Rows;

  absl::Status Read();
  absl::Status ReadRun(const lanes::RowRange& run, std::vector<Picked>& rows);
  absl::Status ReadOneByOne(const lanes::RowRange& run, std::vector<Picked>& rows);

  const Source& source_;
  const std::vector<lanes::RowRange> rows_;  // Of one row each.
  core::Pool& pool_;
  std::vector<Picked> picked_;  // In the order wanted, once read.
  bool ended_ = false;
};

}  // namespace millrace::ops
