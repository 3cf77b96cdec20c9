// For tests: collects what an operator gives.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/core/block.h"
#include "millrace/ops/operator.h"

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

}  // namespace millrace::ops
