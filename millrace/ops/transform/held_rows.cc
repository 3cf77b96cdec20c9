#include "millrace/ops/transform/held_rows.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/copy_rows.h"

namespace millrace::ops {
namespace {

constexpr int64_t kSlackRows = 1024;  // Beyond twice what waits.
constexpr size_t kBlocksMax = 4096;

}  // namespace

int32_t HeldRows::Keep(core::Block block) {
  if (block.pooled()) kept_ += block.rows();
  blocks_.push_back(std::move(block));
  return static_cast<int32_t>(blocks_.size() - 1);
}

absl::Status HeldRows::Compact(int64_t waiting, VisitAll visit_all) {
  const bool few = kept_ <= 2 * waiting + kSlackRows;
  if (few && blocks_.size() < kBlocksMax) return absl::OkStatus();
  std::vector<core::RowRef> rows;
  rows.reserve(waiting);
  visit_all([&](core::RowRef& row) { rows.push_back(row); });
  CHECK_EQ(std::ssize(rows), waiting);
  blocks_ = {TRY(Gather(rows))};
  int64_t next = 0;
  visit_all([&](core::RowRef& row) { row = {.source = 0, .row = next++}; });
  kept_ = waiting;
  return absl::OkStatus();
}

}  // namespace millrace::ops
