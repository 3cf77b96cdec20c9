// The unit that flows: a run of rows, stored by column, and the identities of the rows
// where something downstream needs them. Operators take and give blocks. A batch is a
// block of one row whose fields have a leading axis; the identities stack with the
// fields, so that unbatching finds them again. A cheap handle, read-only once made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/hash.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"

namespace millrace::core {

// What makes a row this row, whatever machine computes it: 128 bits.
using RowId = base::Hash128;

using FieldNames = std::vector<std::string>;

class Block {
 public:
  Block() = default;  // No rows, no fields.

  // Requires: one column per name, each of `rows` rows.
  Block(int64_t rows, std::shared_ptr<const FieldNames> names,
        std::vector<Column> columns);
  Block(int64_t rows, FieldNames names, std::vector<Column> columns);

  int64_t rows() const { return rows_; }

  const FieldNames& names() const { return *names_; }

  const std::shared_ptr<const FieldNames>& shared_names() const { return names_; }

  const std::vector<Column>& columns() const { return columns_; }

  // Finds a field's column; null when there is none.
  const Column* Find(std::string_view name) const;

  // The same rows with their identities: uint64[..., 2], the leading axes being those
  // that stacking has added. Requires: as many rows as the block, and that type.
  Block WithIds(Column ids) const;

  bool has_ids() const { return ids_.has_value(); }

  const std::optional<Column>& ids() const { return ids_; }

  // The identity of a row. That of a batch is made from its first row's and their
  // count, and so on where batches are batched. Requires: has_ids().
  RowId IdAt(int64_t row) const;

  // The identities of all rows in a row: one, but of a batch as many as it was made of.
  // Requires: has_ids().
  std::vector<RowId> IdsIn(int64_t row) const;

  Block Slice(int64_t begin, int64_t rows) const;

  // Groups each `size` rows into one, without a copy. Requires: size divides rows().
  Block Stack(int64_t size) const;

  // Undoes Stack, also where the groups differ in size. An error when a field, or the
  // identities, have no leading axis, or not the sizes that the others have.
  absl::StatusOr<Block> Unstack() const;

  // Makes rows stackable: every field of one shape. An error names the field.
  absl::StatusOr<Block> ToUniform(Pool& pool) const;

  // Makes the values of every dense field begin at a multiple of kAlignment.
  absl::StatusOr<Block> Aligned(Pool& pool) const;

  // Bytes of content in the fields, shared or not.
  int64_t content_bytes() const;

  // Stops counting its memory against the pool's budget: it now belongs to the user.
  void LeaveBudget() const;

  // Tells whether any field is in a pool's memory.
  bool pooled() const;

  // A small table of the first rows, for people.
  std::string ToString(int64_t rows_max = 8) const;

 private:
  int64_t rows_ = 0;
  std::shared_ptr<const FieldNames> names_ = std::make_shared<const FieldNames>();
  std::vector<Column> columns_;
  std::optional<Column> ids_;
};

// Makes the column that carries identities.
absl::StatusOr<Column> IdColumn(absl::Span<const RowId> ids, Pool& pool);

// Joins blocks of the same fields. Requires: at least one.
absl::StatusOr<Block> Concatenate(absl::Span<const Block> blocks, Pool& pool);

// Takes rows of several blocks of the same fields, in the order given.
absl::StatusOr<Block> Gather(absl::Span<const Block> blocks,
                             absl::Span<const RowRef> rows, Pool& pool);

// Takes rows of one block.
absl::StatusOr<Block> Gather(const Block& block, absl::Span<const int64_t> rows,
                             Pool& pool);

// Same fields, rows and identities, however they are laid out.
bool SameRows(const Block& a, const Block& b);

// Checks that a block is what a spec promised.
absl::Status CheckAdmits(const Spec& spec, const Block& block);

}  // namespace millrace::core
