#include "millrace/exec/stage_run.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "millrace/base/check.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"

namespace millrace::exec {

int64_t RowsInBatch(const core::Block& batches) {
  int64_t rows = 0;
  const core::Column& any =
      batches.has_ids() ? *batches.ids() : batches.columns().front();
  for (int64_t row = 0; row < batches.rows(); ++row) rows += any.LeadingSize(row);
  return rows;
}

std::optional<Item> SkippedRows::Pass(Item item) {
  if (item.left_out && left_ > 0) return std::nullopt;
  const int64_t skipped = std::min(left_, item.block.rows());
  if (skipped == 0) return item;
  left_ -= skipped;
  if (skipped == item.block.rows()) return std::nullopt;
  return Item::Of(item.block.Slice(skipped, item.block.rows() - skipped));
}

void SourceStage::Accept(Item /*item*/) { CHECK(false) << "a source takes nothing"; }

void SourceStage::EndInput() { CHECK(false) << "a source takes nothing"; }

void ItemQueue::Push(Item item) {
  bytes_ += item.bytes;
  items_.push_back(std::move(item));
}

Item ItemQueue::Pop() {
  CHECK(!items_.empty());
  Item item = std::move(items_.front());
  items_.pop_front();
  bytes_ -= item.bytes;
  return item;
}

Item ItemQueue::PopRows(int64_t rows) {
  CHECK_GE(rows, 1);
  CHECK(!items_.empty());
  Item& front = items_.front();
  const int64_t all = front.block.rows();
  if (all <= rows) return Pop();
  Item part = front;
  part.block = front.block.Slice(0, rows);
  part.bytes = front.bytes / all * rows;
  front.block = front.block.Slice(rows, all - rows);
  front.bytes -= part.bytes;
  bytes_ -= part.bytes;
  return part;
}

void ItemQueue::Clear() {
  items_.clear();
  bytes_ = 0;
}

void RunningMean::Add(double value) {
  value_ = known_ ? value_ + (value - value_) / 8 : value;
  known_ = true;
}

}  // namespace millrace::exec
