#include "millrace/kernels/evaluate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/tiles.h"
#include "millrace/kernels/value_writer.h"

namespace millrace::kernels {
namespace {

using core::Column;
using ir::Operand;
using ir::Term;
using ir::TermId;

class Evaluation {
 public:
  Evaluation(const ir::Expression& expression, const core::Block& rows,
             const DrawScope& scope, core::Pool& pool,
             absl::Span<const core::Buffer> into)
      : expression_(expression),
        rows_(rows),
        scope_(scope),
        pool_(pool),
        into_(into),
        values_(expression.terms().size()),
        last_use_(LastUses()) {
    CHECK(rows.has_ids() || !expression.IsRandom()) << "random without identities";
  }

  absl::StatusOr<std::vector<Column>> Run() {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (IsLeftOut(expression_.terms()[i])) continue;
      values_[i] = TRY(Compute(expression_.terms()[i]));
      FreeAfter(i);
    }
    std::vector<Column> results;
    for (const ir::Result& result : expression_.results()) {
      const std::optional<Operand>& value = values_[static_cast<size_t>(result.term)];
      results.push_back(value ? TRY(ForEachRow(*value)) : Column());
    }
    return results;
  }

  // The same of a tile, where fields that are only passed on may be missing.
  absl::StatusOr<std::vector<Column>> RunTile() {
    is_tile_ = true;
    return Run();
  }

 private:
  bool IsLeftOut(const Term& term) const {
    return is_tile_ && term.kind == Term::Kind::kField &&
           rows_.Find(term.name) == nullptr;
  }

  // The last term that needs each term; results are needed to the end.
  std::vector<size_t> LastUses() const {
    std::vector<size_t> last(values_.size());
    for (size_t i = 0; i < values_.size(); ++i) {
      for (const TermId operand : expression_.terms()[i].operands) {
        last[static_cast<size_t>(operand)] = i;
      }
    }
    for (const ir::Result& result : expression_.results()) {
      last[static_cast<size_t>(result.term)] = values_.size();
    }
    return last;
  }

  // Where the result that a term makes is wanted; null where nobody said.
  const core::Buffer* IntoOf(const Term& term) const {
    for (size_t i = 0; i < into_.size(); ++i) {
      const Term& result = expression_[expression_.results()[i].term];
      if (&result == &term && into_[i].size() > 0) return &into_[i];
    }
    return nullptr;
  }

  void FreeAfter(size_t term) {
    for (const TermId operand : expression_.terms()[term].operands) {
      const auto place = static_cast<size_t>(operand);
      if (last_use_[place] == term) values_[place].reset();
    }
  }

  absl::StatusOr<Operand> Compute(const Term& term) {
    switch (term.kind) {
      case Term::Kind::kField:
        return ReadField(term);
      case Term::Kind::kLiteral:
        return Operand{
            .column = TRY(core::FromRows(term.type.dtype, {term.literal}, pool_)),
            .constant = true};
      case Term::Kind::kCall:
        break;
    }
    absl::StatusOr<Operand> result = Call(term);
    if (!result.ok()) return base::Annotate(result.status(), term.kernel->name);
    return result;
  }

  Operand ReadField(const Term& term) const {
    const Column* column = rows_.Find(term.name);
    CHECK(column != nullptr) << "there is no field " << term.name;
    CHECK_EQ(column->dtype(), term.type.dtype) << "of field " << term.name;
    return {.column = *column};
  }

  absl::StatusOr<Operand> Call(const Term& term) {
    const ir::KernelSchema& kernel = *term.kernel;
    std::vector<Operand> operands;
    std::vector<ir::ValueType> types;
    for (const TermId operand : term.operands) {
      operands.push_back(*values_[static_cast<size_t>(operand)]);
      types.push_back(expression_[operand].type);
    }
    const bool constant =
        !kernel.random && std::ranges::all_of(operands, &Operand::constant);
    const ir::Draws draws = {
        .key = base::RandomKey(scope_.seed, scope_.epoch,
                               static_cast<uint64_t>(term.call_number)),
        .rows = &rows_};
    const int64_t rows = constant ? 1 : rows_.rows();
    Column column = TRY(kernel.run({.rows = rows,
                                    .operands = operands,
                                    .operand_types = types,
                                    .type = term.type,
                                    .arguments = term.arguments,
                                    .draws = kernel.random ? &draws : nullptr,
                                    .pool = pool_,
                                    .into = constant ? nullptr : IntoOf(term)}));
    CHECK_EQ(column.rows(), rows) << "from " << kernel.name;
    CHECK_EQ(column.dtype(), term.type.dtype) << "from " << kernel.name;
    return Operand{.column = std::move(column), .constant = constant};
  }

  absl::StatusOr<Column> ForEachRow(const Operand& operand) const {
    if (!operand.constant) return operand.column;
    return Column::Repeat(TRY(operand.column.Row(0)), rows_.rows(), pool_);
  }

  const ir::Expression& expression_;
  bool is_tile_ = false;
  const core::Block& rows_;
  const DrawScope& scope_;
  core::Pool& pool_;
  const absl::Span<const core::Buffer> into_;
  std::vector<std::optional<Operand>> values_;  // Of the terms computed and not freed.
  const std::vector<size_t> last_use_;
};

// No rows, of the types that rows would have had: laid out as they would be, so that
// joining them with others costs nothing.
absl::StatusOr<std::vector<Column>> NoRows(const ir::Expression& expression,
                                           core::Pool& pool) {
  std::vector<Column> results;
  for (const ir::Result& result : expression.results()) {
    const ir::ValueType& type = expression.type_of(result);
    if (!type.shape.IsKnown()) {
      results.push_back(Column::OfTensors(type.dtype, {}));
      continue;
    }
    ValueWriter nothing = TRY(ValueWriter::Open(type.dtype, 0, pool));
    results.push_back(TRY(std::move(nothing).ToColumn(0, type.shape)));
  }
  return results;
}

// Large rows, tile by tile.
class TiledEvaluation {
 public:
  TiledEvaluation(const ir::Expression& expression, const FlatRows& flat,
                  const DrawScope& scope, core::Pool& pool)
      : expression_(expression), flat_(flat), scope_(scope), pool_(pool) {}

  // Gives a column for each result that is computed; `rows` has the others.
  absl::StatusOr<std::vector<Column>> Run(const core::Block& rows,
                                          absl::Span<const core::Buffer> into) {
    TRY(OpenResults(into));
    for (int64_t begin = 0; begin < flat_.values.rows(); begin += flat_.tile_rows) {
      const int64_t left = flat_.values.rows() - begin;
      TRY(RunTile(begin, std::min(flat_.tile_rows, left)));
    }
    std::vector<Column> columns;
    for (size_t i = 0; i < values_.size(); ++i) {
      const Term& term = TermOf(i);
      columns.push_back(term.kind == Term::Kind::kField
                            ? *rows.Find(term.name)
                            : Column::Dense(term.type.dtype, rows.rows(),
                                            flat_.row_shape, values_[i]));
    }
    return columns;
  }

 private:
  const Term& TermOf(size_t result) const {
    return expression_[expression_.results()[result].term];
  }

  absl::Status OpenResults(absl::Span<const core::Buffer> into) {
    for (size_t i = 0; i < expression_.results().size(); ++i) {
      values_.emplace_back();
      if (TermOf(i).kind == Term::Kind::kField) continue;
      const int64_t bytes = flat_.values.rows() * core::SizeOf(TermOf(i).type.dtype);
      const bool placed = !into.empty() && into[i].size() == bytes;
      values_[i] = placed ? into[i] : TRY(pool_.Allocate(bytes));
    }
    return absl::OkStatus();
  }

  absl::Status RunTile(int64_t begin, int64_t count) {
    std::vector<core::Buffer> places;
    for (size_t i = 0; i < values_.size(); ++i) {
      const bool passed_on = values_[i].size() == 0;
      const int64_t size = passed_on ? 0 : core::SizeOf(TermOf(i).type.dtype);
      places.push_back(values_[i].Slice(begin * size, count * size));
    }
    const core::Block tile = flat_.values.Slice(begin, count);
    Evaluation evaluation(expression_, tile, scope_, pool_, places);
    const std::vector<Column> made = TRY(evaluation.RunTile());
    for (size_t i = 0; i < values_.size(); ++i) {
      const core::Buffer& values = made[i].values();
      if (places[i].size() == 0 || values.data() == places[i].data()) continue;
      std::memcpy(places[i].mutable_data(), values.data(), values.size());
    }
    return absl::OkStatus();
  }

  const ir::Expression& expression_;
  const FlatRows& flat_;
  const DrawScope& scope_;
  core::Pool& pool_;
  std::vector<core::Buffer> values_;  // By result; none of a field that is passed on.
};

}  // namespace

absl::StatusOr<std::vector<Column>> Evaluate(const ir::Expression& expression,
                                             const core::Block& rows,
                                             const DrawScope& scope, core::Pool& pool,
                                             absl::Span<const core::Buffer> into) {
  CHECK(into.empty() || into.size() == expression.results().size());
  if (rows.rows() == 0) return NoRows(expression, pool);
  if (const std::optional<FlatRows> flat = Flatten(expression, rows)) {
    TiledEvaluation tiles(expression, *flat, scope, pool);
    absl::StatusOr<std::vector<Column>> columns = tiles.Run(rows, into);
    if (columns.ok()) return columns;  // Else below, which knows the row that fails.
  }
  return Evaluation(expression, rows, scope, pool, into).Run();
}

absl::StatusOr<Column> EvaluateValue(const ir::Expression& expression,
                                     const core::Block& rows, const DrawScope& scope,
                                     core::Pool& pool) {
  CHECK_EQ(expression.results().size(), 1U);
  std::vector<Column> results = TRY(Evaluate(expression, rows, scope, pool));
  return std::move(results[0]);
}

}  // namespace millrace::kernels
