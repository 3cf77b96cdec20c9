#include "millrace/exec/slots.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/stages.h"
#include "millrace/ir/pipeline.h"

namespace millrace::exec {
namespace {

constexpr int64_t kRowBytesLeast = 4096;
constexpr int64_t kBatchBytesMost = int64_t{1} << 30;

// Bytes of a row's values; 0 where they are few.
int64_t SlotBytes(core::DType dtype, const core::Shape& shape) {
  const absl::StatusOr<int64_t> count = shape.CountChecked();
  if (!count.ok() || *count > kBatchBytesMost) return 0;
  const int64_t bytes = *count * core::SizeOf(dtype);
  return bytes < kRowBytesLeast ? 0 : bytes;
}

int64_t SlotBytes(const core::FieldSpec& field) {
  if (core::IsVariable(field.dtype)) return 0;
  return field.shape.IsKnown() ? SlotBytes(field.dtype, field.shape) : kSeenLater;
}

// The same of rows that were made; 0 where they have no shape in common.
int64_t SlotBytes(const core::Column& column) {
  const std::optional<core::Shape> shape = column.row_shape();
  return shape && column.IsDense() ? SlotBytes(column.dtype(), *shape) : 0;
}

}  // namespace

std::optional<SlotShape> SlotsBehind(const PassPlan& plan, const Stage& stage) {
  const int behind = stage.last + 1;
  if (behind != plan.join || behind == static_cast<int>(plan.nodes.size())) {
    return std::nullopt;
  }
  const ir::Pipeline& last = plan.nodes[stage.last];
  bool fits = plan.nodes[behind].schema().traits.stacks_runs &&
              last.schema().traits.fills_places;
  for (int place = stage.first; place < behind; ++place) {
    fits = fits && GivesOneRowPerRow(plan, place);
  }
  if (!fits) return std::nullopt;
  SlotShape shape = {.batch_rows = BatchSizeOf(plan.nodes[behind]), .row_bytes = {}};
  int64_t bytes = 0;
  bool any = false;
  for (const core::FieldSpec& field : last.spec().fields()) {
    shape.row_bytes.push_back(SlotBytes(field));
    bytes += std::max<int64_t>(shape.row_bytes.back(), 0);
    any = any || shape.row_bytes.back() != 0;
  }
  const bool too_large = bytes > 0 && shape.batch_rows > kBatchBytesMost / bytes;
  if (!any || too_large) return std::nullopt;
  return shape;
}

SlotTable::SlotTable(SlotShape shape, core::Pool& pool)
    : shape_(std::move(shape)), pool_(pool) {
  for (const int64_t bytes : shape_.row_bytes) guessed_.push_back(bytes == kSeenLater);
}

void SlotTable::See(const core::Block& rows) {
  for (size_t i = 0; i < guessed_.size(); ++i) {
    if (!guessed_[i] || rows.rows() == 0) continue;
    const int64_t bytes = SlotBytes(rows.columns()[i]);
    int64_t& guess = shape_.row_bytes[i];
    const bool fits = bytes > 0 && shape_.batch_rows <= kBatchBytesMost / bytes;
    const bool alike = fits && (guess == kSeenLater || guess == bytes);
    guess = alike ? bytes : 0;
    guessed_[i] = alike;
  }
}

SlotTable::Batches::iterator SlotTable::Find(int64_t position) {
  const int64_t number = position / shape_.batch_rows;
  const auto found = batches_.find(number);
  if (found != batches_.end()) return found;
  return batches_.emplace(number, Batch{.fields = MakeFields()}).first;
}

std::vector<core::Buffer> SlotTable::MakeFields() const {
  std::vector<core::Buffer> fields;
  for (const int64_t bytes : shape_.row_bytes) {
    const int64_t row_bytes = std::max<int64_t>(bytes, 0);
    absl::StatusOr<core::Buffer> field = pool_.Allocate(row_bytes * shape_.batch_rows);
    if (!field.ok()) return {};
    fields.push_back(*std::move(field));
  }
  return fields;
}

void SlotTable::Count(Batches::iterator batch, int64_t rows) {
  batch->second.claimed += rows;
  CHECK_LE(batch->second.claimed, shape_.batch_rows);
  if (batch->second.claimed == shape_.batch_rows) batches_.erase(batch);
}

std::vector<core::Buffer> SlotTable::Claim(int64_t position, int64_t rows) {
  CHECK_GE(rows, 1);
  CHECK_LE(rows, RowsFrom(position));
  const auto batch = Find(position);
  const int64_t first = position % shape_.batch_rows;
  std::vector<core::Buffer> places(batch->second.fields.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const core::Buffer& field = batch->second.fields[i];
    const int64_t bytes = field.size() / shape_.batch_rows;
    if (bytes > 0) places[i] = field.Slice(first * bytes, rows * bytes);
  }
  Count(batch, rows);
  return places;
}

void SlotTable::GiveUp(int64_t position, int64_t rows) {
  while (rows > 0) {
    const int64_t some = std::min(rows, RowsFrom(position));
    const int64_t number = position / shape_.batch_rows;
    const auto batch = batches_.try_emplace(number).first;
    batch->second.fields.clear();
    Count(batch, some);
    position += some;
    rows -= some;
  }
}

void SlotTable::Drop(int64_t begin, int64_t end) {
  batches_.erase(batches_.lower_bound(begin / shape_.batch_rows),
                 batches_.lower_bound(end / shape_.batch_rows));
}

}  // namespace millrace::exec
