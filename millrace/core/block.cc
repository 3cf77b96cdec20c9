#include "millrace/core/block.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"

namespace millrace::core {
namespace {

// Whether a block can be joined with another: same names, and identities on both or
// none.
absl::Status CheckSameFields(absl::Span<const Block> blocks) {
  CHECK(!blocks.empty());
  for (const Block& block : blocks) {
    CHECK_EQ(block.has_ids(), blocks[0].has_ids());
    if (block.shared_names() == blocks[0].shared_names() ||
        block.names() == blocks[0].names()) {
      continue;
    }
    return absl::InvalidArgumentError(
        base::StrCat("blocks of different fields cannot be joined: ",
                     absl::StrJoin(blocks[0].names(), ", "), " and ",
                     absl::StrJoin(block.names(), ", ")));
  }
  return absl::OkStatus();
}

using JoinColumns =
    std::function<absl::StatusOr<Column>(absl::Span<const Column> columns)>;

// Joins several blocks field by field, identities included.
absl::StatusOr<Block> JoinByField(absl::Span<const Block> blocks, int64_t rows,
                                  const JoinColumns& join) {
  TRY(CheckSameFields(blocks));
  const FieldNames& names = blocks[0].names();
  std::vector<Column> joined;
  std::vector<Column> parts;
  for (size_t i = 0; i < names.size(); ++i) {
    parts.clear();
    for (const Block& block : blocks) parts.push_back(block.columns()[i]);
    absl::StatusOr<Column> column = join(parts);
    if (!column.ok()) {
      return base::Annotate(column.status(), base::StrCat("field ", names[i]));
    }
    joined.push_back(*std::move(column));
  }
  Block block(rows, blocks[0].shared_names(), std::move(joined));
  if (!blocks[0].has_ids()) return block;
  parts.clear();
  for (const Block& part : blocks) parts.push_back(*part.ids());
  return block.WithIds(TRY(join(parts)));
}

// The identity of one row of the identity column.
RowId IdOf(const Column& ids, int64_t row) {
  if (ids.levels().size() == 1) {
    const absl::Span<const uint64_t> words = ids.values().As<uint64_t>();
    return RowId{words[2 * row], words[2 * row + 1]};
  }
  const Column batch = ids.Slice(row, 1).Unstack();
  const RowId first = batch.rows() > 0 ? IdOf(batch, 0) : RowId{};
  return base::Combine(first, static_cast<uint64_t>(batch.rows()));
}

// Whether a column has, row for row, leading axes of the same sizes as another.
bool SameLeadingSizes(const Column& a, const Column& b) {
  for (int64_t row = 0; row < a.rows(); ++row) {
    if (a.LeadingSize(row) != b.LeadingSize(row)) return false;
  }
  return true;
}

}  // namespace

Block::Block(int64_t rows, std::shared_ptr<const FieldNames> names,
             std::vector<Column> columns)
    : rows_(rows), names_(std::move(names)), columns_(std::move(columns)) {
  CHECK_GE(rows_, 0);
  CHECK_EQ(names_->size(), columns_.size());
  for (const Column& column : columns_) CHECK_EQ(column.rows(), rows_);
}

Block::Block(int64_t rows, FieldNames names, std::vector<Column> columns)
    : Block(rows, std::make_shared<const FieldNames>(std::move(names)),
            std::move(columns)) {}

const Column* Block::Find(std::string_view name) const {
  const auto found = std::ranges::find(*names_, name);
  return found == names_->end() ? nullptr : &columns_[found - names_->begin()];
}

Block Block::WithIds(Column ids) const {
  CHECK_EQ(ids.rows(), rows_);
  CHECK_EQ(ids.dtype(), DType::kUint64);
  CHECK(!ids.levels().empty());
  CHECK_EQ(ids.levels().back().size, 2);
  Block block = *this;
  block.ids_ = std::move(ids);
  return block;
}

RowId Block::IdAt(int64_t row) const {
  CHECK(has_ids());
  CHECK_GE(row, 0);
  CHECK_LT(row, rows_);
  return IdOf(*ids_, row);
}

std::vector<RowId> Block::IdsIn(int64_t row) const {
  CHECK(has_ids());
  Column column = ids_->Slice(row, 1);
  while (column.levels().size() > 1) column = column.Unstack();
  std::vector<RowId> ids;
  ids.reserve(column.rows());
  for (int64_t i = 0; i < column.rows(); ++i) ids.push_back(IdOf(column, i));
  return ids;
}

Block Block::Slice(int64_t begin, int64_t rows) const {
  CHECK_GE(begin, 0);
  CHECK_GE(rows, 0);
  CHECK_LE(begin, rows_ - rows);
  Block part = *this;
  part.rows_ = rows;
  for (Column& column : part.columns_) column = column.Slice(begin, rows);
  if (part.ids_) part.ids_ = part.ids_->Slice(begin, rows);
  return part;
}

Block Block::Stack(int64_t size) const {
  CHECK_GT(size, 0);
  CHECK_EQ(rows_ % size, 0);
  Block stacked = *this;
  stacked.rows_ = rows_ / size;
  for (Column& column : stacked.columns_) column = column.Stack(size);
  if (stacked.ids_) stacked.ids_ = stacked.ids_->Stack(size);
  return stacked;
}

absl::StatusOr<Block> Block::Unstack() const {
  if (ids_ && ids_->levels().size() < 2) {
    return absl::InvalidArgumentError("rows cannot be unstacked: they are no batches");
  }
  if (columns_.empty() && !ids_) {
    return absl::InvalidArgumentError("rows cannot be unstacked: they have no fields");
  }
  const Column& guide = ids_ ? *ids_ : columns_.front();
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].HasLeadingAxis()) {
      return absl::InvalidArgumentError(base::StrCat(
          "rows cannot be unstacked: no leading axis in field ", names()[i]));
    }
    if (!SameLeadingSizes(columns_[i], guide)) {
      return absl::InvalidArgumentError(base::StrCat(
          "rows cannot be unstacked: another leading size in field ", names()[i]));
    }
  }
  Block unstacked = *this;
  for (Column& column : unstacked.columns_) column = column.Unstack();
  if (ids_) unstacked.ids_ = ids_->Unstack();
  unstacked.rows_ = ids_ ? unstacked.ids_->rows() : unstacked.columns_.front().rows();
  return unstacked;
}

absl::StatusOr<Block> Block::ToUniform(Pool& pool) const {
  Block uniform = *this;
  for (size_t i = 0; i < columns_.size(); ++i) {
    absl::StatusOr<Column> column = core::ToUniform(columns_[i], pool);
    if (!column.ok()) {
      return base::Annotate(column.status(), base::StrCat("field ", names()[i]));
    }
    uniform.columns_[i] = *std::move(column);
  }
  return uniform;
}

int64_t Block::content_bytes() const {
  int64_t bytes = 0;
  for (const Column& column : columns_) bytes += column.content_bytes();
  return bytes;
}

absl::StatusOr<Block> Block::Aligned(Pool& pool) const {
  Block aligned = *this;
  for (Column& column : aligned.columns_) column = TRY(core::Aligned(column, pool));
  return aligned;
}

bool Block::pooled() const { return std::ranges::any_of(columns_, &Column::pooled); }

void Block::LeaveBudget() const {
  for (const Column& column : columns_) column.LeaveBudget();
  if (ids_) ids_->LeaveBudget();
}

namespace {

// The values of a row with axes, without its type; of lists in lists, the first ones.
std::string ShownLists(const Column& column, int64_t row) {
  constexpr int64_t kItemsMax = 8;
  if (const absl::StatusOr<Tensor> value = column.Row(row); value.ok()) {
    const std::string text = value->ToString();
    return text.substr(text.find(']') + 2);
  }
  const Column items = column.Slice(row, 1).Unstack();
  std::string text;
  for (int64_t item = 0; item < std::min(items.rows(), kItemsMax); ++item) {
    absl::StrAppend(&text, item == 0 ? "[" : ", ", ShownLists(items, item));
  }
  return text + (items.rows() > kItemsMax ? ", ...]" : "]");
}

std::string ShownRow(const Column& column, int64_t row) {
  if (const absl::StatusOr<Tensor> value = column.Row(row); value.ok()) {
    return value->ToString();
  }
  std::string type =
      absl::StrCat(base::ToAbsl(Name(column.dtype())), "[", column.LeadingSize(row));
  for (size_t i = 1; i < column.shape_levels().size(); ++i) type += ", ?";
  return absl::StrCat(type, "] ", ShownLists(column, row));
}

}  // namespace

std::string Block::ToString(int64_t rows_max) const {
  std::string text;
  for (int64_t row = 0; row < std::min(rows_, rows_max); ++row) {
    absl::StrAppend(&text, row == 0 ? "" : "\n", "{");
    for (size_t i = 0; i < columns_.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ", ", names()[i], ": ",
                      ShownRow(columns_[i], row));
    }
    text += "}";
  }
  if (rows_ > rows_max)
    absl::StrAppend(&text, "\n... ", rows_ - rows_max, " more rows");
  return text;
}

absl::StatusOr<Column> IdColumn(absl::Span<const RowId> ids, Pool& pool) {
  const auto rows = static_cast<int64_t>(ids.size());
  Buffer buffer = TRY(pool.AllocateFor<uint64_t>(2 * rows));
  uint64_t* out = buffer.MutableAs<uint64_t>().data();
  for (const RowId& id : ids) {
    *out++ = id.hi;
    *out++ = id.lo;
  }
  return Column::Dense(DType::kUint64, rows, {2}, std::move(buffer));
}

absl::StatusOr<Block> Concatenate(absl::Span<const Block> blocks, Pool& pool) {
  CHECK(!blocks.empty());
  if (blocks.size() == 1) return blocks[0];
  int64_t rows = 0;
  for (const Block& block : blocks) rows += block.rows();
  return JoinByField(blocks, rows, [&](absl::Span<const Column> columns) {
    return Concatenate(columns, pool);
  });
}

absl::StatusOr<Block> Gather(absl::Span<const Block> blocks,
                             absl::Span<const RowRef> rows, Pool& pool) {
  return JoinByField(
      blocks, static_cast<int64_t>(rows.size()),
      [&](absl::Span<const Column> columns) { return Gather(columns, rows, pool); });
}

absl::StatusOr<Block> Gather(const Block& block, absl::Span<const int64_t> rows,
                             Pool& pool) {
  return JoinByField(
      absl::MakeConstSpan(&block, 1), static_cast<int64_t>(rows.size()),
      [&](absl::Span<const Column> columns) { return Gather(columns[0], rows, pool); });
}

bool SameRows(const Block& a, const Block& b) {
  if (a.rows() != b.rows() || a.names() != b.names()) return false;
  if (a.has_ids() != b.has_ids()) return false;
  if (a.has_ids() && !SameRows(*a.ids(), *b.ids())) return false;
  return std::ranges::equal(
      a.columns(), b.columns(),
      [](const Column& of_a, const Column& of_b) { return SameRows(of_a, of_b); });
}

absl::Status CheckAdmits(const Spec& spec, const Block& block) {
  if (spec.fields().size() != block.names().size()) {
    return absl::InvalidArgumentError(base::StrCat("rows should have the fields ",
                                                   spec.Names(), " but have ",
                                                   absl::StrJoin(block.names(), ", ")));
  }
  for (size_t i = 0; i < block.names().size(); ++i) {
    if (spec.fields()[i].name != block.names()[i]) {
      return absl::InvalidArgumentError(base::StrCat("field ", i, " should be ",
                                                     spec.fields()[i].name, " but is ",
                                                     block.names()[i]));
    }
    TRY(CheckAdmits(spec.fields()[i], block.columns()[i]));
  }
  return absl::OkStatus();
}

}  // namespace millrace::core
