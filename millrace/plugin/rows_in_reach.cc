#include "millrace/plugin/rows_in_reach.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"

namespace millrace::plugin {
namespace {

const core::Column& ColumnOf(const core::Block& block,
                             std::optional<std::string_view> field) {
  return field ? *block.Find(*field) : *block.ids();
}

}  // namespace

void RowsInReach::Push(core::Block block) {
  const int64_t rows = block.rows();
  uses_.insert(uses_.end(), rows, 0);
  blocks_.push_back({std::move(block), end_});
  end_ += rows;
}

// A block goes as a whole, once none of its rows is in reach.
void RowsInReach::EndCall() {
  const int64_t until = end_ - held_;
  if (until <= begin_) return;
  uses_.erase(uses_.begin(), uses_.begin() + (until - begin_));
  begin_ = until;
  while (!blocks_.empty() &&
         blocks_.front().first + blocks_.front().block.rows() <= until) {
    blocks_.pop_front();
  }
}

const RowsInReach::Kept& RowsInReach::BlockOf(int64_t number) const {
  CHECK_GE(number, begin_);
  CHECK_LT(number, end_);
  const auto before = [](int64_t at, const Kept& kept) { return at < kept.first; };
  // The checker of includes does not know where the ranges' version is.
  // NOLINTNEXTLINE(modernize-use-ranges)
  const auto next = std::upper_bound(blocks_.begin(), blocks_.end(), number, before);
  return *std::prev(next);
}

core::RowId RowsInReach::IdAt(int64_t number) const {
  const Kept& kept = BlockOf(number);
  return kept.block.IdAt(number - kept.first);
}

std::vector<core::RowId> RowsInReach::IdsIn(int64_t number) const {
  const Kept& kept = BlockOf(number);
  return kept.block.IdsIn(number - kept.first);
}

absl::StatusOr<core::Column> RowsInReach::Gather(
    std::optional<std::string_view> field, absl::Span<const int64_t> numbers) const {
  std::vector<core::Column> columns;
  std::vector<core::RowRef> rows;
  rows.reserve(numbers.size());
  const Kept* last = nullptr;
  bool in_order = true;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Kept& kept = BlockOf(numbers[i]);
    if (&kept != last) columns.push_back(ColumnOf(kept.block, field));
    last = &kept;
    in_order = in_order && numbers[i] == numbers[0] + static_cast<int64_t>(i);
    rows.push_back({static_cast<int32_t>(columns.size()) - 1, numbers[i] - kept.first});
  }
  if (in_order && columns.size() == 1) {
    return columns[0].Slice(rows[0].row, std::ssize(rows));
  }
  return core::Gather(columns, rows, pool_);
}

}  // namespace millrace::plugin
