#include "millrace/ops/block_joiner.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"

namespace millrace::ops {
namespace {

constexpr int64_t kRowsWanted = 1024;
constexpr int64_t kBytesWanted = int64_t{1} << 20;

}  // namespace

absl::StatusOr<std::optional<core::Block>> BlockJoiner::Add(core::Block block) {
  rows_ += block.rows();
  bytes_ += block.content_bytes();
  waiting_.push_back(std::move(block));
  if (rows_ < kRowsWanted && bytes_ < kBytesWanted) return std::nullopt;
  return Rest();
}

absl::StatusOr<std::optional<core::Block>> BlockJoiner::Rest() {
  if (rows_ == 0) return std::nullopt;
  rows_ = bytes_ = 0;
  std::vector<core::Block> blocks = std::exchange(waiting_, {});
  if (blocks.size() == 1) return std::move(blocks[0]);
  return TRY(core::Concatenate(blocks, pool_));
}

}  // namespace millrace::ops
