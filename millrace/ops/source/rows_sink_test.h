// For tests: takes the blocks that are made of found rows.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

inline core::Buffer BufferOf(std::string_view text) {
  return *core::CopyBytes(text.data(), std::ssize(text), core::HeapPool());
}

// Keeps what is given, and why rows are wrong; stops at the first of those if told to.
class KeepsRows final : public RowsSink {
 public:
  absl::Status Give(core::Block block) override {
    blocks.push_back(std::move(block));
    return absl::OkStatus();
  }

  absl::Status LeaveOut(const BadRow& row) override {
    if (stops) return row.why;
    reasons.emplace_back(row.why.message());
    return absl::OkStatus();
  }

  bool stops = false;
  std::vector<core::Block> blocks;
  std::vector<std::string> reasons;
};

}  // namespace millrace::ops
