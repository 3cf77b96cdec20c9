// For tests: collects what an operator or a source gives.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

class Collector final : public Emitter {
 public:
  absl::Status Emit(core::Block block) override {
    blocks.push_back(std::move(block));
    return absl::OkStatus();
  }

  absl::Status EmitTail(int64_t key, core::Block rows) override {
    tail_keys.push_back(key);
    tail = std::move(rows);
    return absl::OkStatus();
  }

  std::vector<core::Block> blocks;
  std::vector<int64_t> tail_keys;
  core::Block tail;
};

// Leaves every bad row out, and remembers why.
class LeavesOut final : public BadRows {
 public:
  absl::Status LeaveOut(const BadRow& row) override {
    reasons.emplace_back(row.why.message());
    return absl::OkStatus();
  }

  std::vector<std::string> reasons;
};

// Reads all rows of a range.
inline absl::StatusOr<std::vector<core::Block>> ReadAll(
    const Source& source, const lanes::RowRange& rows,
    BadRows& bad_rows = NoBadRows()) {
  const std::unique_ptr<Reader> reader = TRY(source.Open(rows));
  std::vector<core::Block> blocks;
  while (true) {
    TRY(reader->Fetch());
    std::optional<core::Block> block = TRY(reader->Next(bad_rows));
    if (!block) return blocks;
    blocks.push_back(*std::move(block));
  }
}

}  // namespace millrace::ops
