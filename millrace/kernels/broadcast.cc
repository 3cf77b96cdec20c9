#include "millrace/kernels/broadcast.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/row_error.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::Shape;
using core::Tensor;
using ir::Operand;

// All rows of one shape, and their values side by side.
bool IsRegular(const Operand& operand) {
  return operand.column.row_shape().has_value();
}

bool IsConstantScalar(const Operand& operand) {
  if (!operand.constant) return false;
  const std::optional<Shape> shape = operand.column.row_shape();
  return shape.has_value() && shape->is_scalar();
}

absl::StatusOr<Shape> BroadcastShapes(int64_t row, absl::Span<const Shape> shapes) {
  Shape result;
  for (const Shape& shape : shapes) {
    const std::optional<Shape> met = core::Broadcast(result, shape);
    if (!met) {
      return RowError(row, base::StrCat("shapes do not go together: ",
                                        result.ToString(), " and ", shape.ToString()));
    }
    result = *met;
  }
  return result;
}

class Broadcaster {
 public:
  Broadcaster(int64_t rows, absl::Span<const Operand> operands,
              const Computation& computation, core::Pool& pool)
      : rows_(rows), operands_(operands), computation_(computation), pool_(pool) {
    CHECK(!operands_.empty());
    for (const Operand& operand : operands_) {
      CHECK_EQ(operand.column.rows(), operand.constant ? 1 : rows_);
    }
  }

  absl::StatusOr<Column> Run() const {
    if (rows_ == 0) return core::FromRows(computation_.dtype, {}, pool_);
    if (std::ranges::all_of(operands_, IsRegular)) return RunRegular();
    const Operand* shaped = OnlyShape();
    if (shaped != nullptr && shaped->column.HoldsTensors())
      return RunUnstacked(*shaped);
    if (shaped != nullptr) return RunFlat(shaped->column);
    return RunByRow();
  }

 private:
  int size() const { return static_cast<int>(operands_.size()); }

  absl::StatusOr<Column> RunRegular() const {
    absl::InlinedVector<Shape, 4> shapes;
    for (const Operand& operand : operands_) {
      shapes.push_back(*operand.column.row_shape());
    }
    const Shape result = TRY(BroadcastShapes(0, shapes));
    const absl::StatusOr<int64_t> count = result.WithLeading(rows_).CountChecked();
    if (!count.ok()) return RowErrorOf(0, count.status());
    Walk walk(size());
    Sizes row_steps;
    absl::InlinedVector<Values, 4> firsts;
    for (int i = 0; i < size(); ++i) {
      row_steps.push_back(operands_[i].constant ? 0 : shapes[i].Count());
      firsts.push_back(ValuesOf(operands_[i].column));
    }
    walk.AddAxis(rows_, row_steps);
    AddShapes(walk, result, shapes);
    ValueWriter out = TRY(Open(0, rows_, *count));
    const int64_t computed = walk.Run(firsts, computation_.loop, out);
    if (computed < *count) return Failure(computed / result.Count());
    return std::move(out).ToColumn(rows_, result);
  }

  // Where the caller wants some of the rows, if its place is as large: who knows no
  // shape guesses.
  absl::StatusOr<ValueWriter> Open(int64_t row, int64_t rows, int64_t count) const {
    const core::Buffer* into = computation_.into;
    if (into == nullptr || core::IsVariable(computation_.dtype)) {
      return ValueWriter::Open(computation_.dtype, count, pool_);
    }
    const int64_t bytes = count * core::SizeOf(computation_.dtype);
    const bool fits = into->size() * rows == bytes * rows_;
    if (!fits) return ValueWriter::Open(computation_.dtype, count, pool_);
    core::Buffer place = into->Slice(bytes / rows * row, bytes);
    return ValueWriter::Into(computation_.dtype, std::move(place), pool_);
  }

  static void AddShapes(Walk& walk, const Shape& result,
                        absl::Span<const Shape> shapes) {
    absl::InlinedVector<const Shape*, 4> pointers;
    for (const Shape& shape : shapes) pointers.push_back(&shape);
    walk.AddBroadcastAxes(result, pointers);
  }

  // The operand that alone decides the shape of the result, row for row: all others are
  // constant scalars or have the same shapes. Null when there is none.
  const Operand* OnlyShape() const {
    const Operand* shaped = nullptr;
    for (const Operand& operand : operands_) {
      if (IsConstantScalar(operand)) continue;
      if (operand.constant) return nullptr;
      if (shaped == nullptr) {
        shaped = &operand;
      } else if (shaped->column.HoldsTensors() || operand.column.HoldsTensors() ||
                 !SameShapes(shaped->column, operand.column)) {
        return nullptr;
      }
    }
    const bool plain_tensors = shaped != nullptr && shaped->column.HoldsTensors() &&
                               shaped->column.levels().empty();
    return plain_tensors ? nullptr : shaped;
  }

  // Values without rows: what lies above them stays as it is.
  absl::StatusOr<Column> RunFlat(const Column& shaped) const {
    const int64_t count = CountValues(shaped);
    Walk walk(size());
    Sizes steps;
    absl::InlinedVector<Values, 4> firsts;
    for (const Operand& operand : operands_) {
      steps.push_back(operand.constant ? 0 : 1);
      firsts.push_back(ValuesOf(operand.column));
    }
    walk.AddAxis(count, steps);
    ValueWriter out = TRY(ValueWriter::Open(computation_.dtype, count, pool_));
    const int64_t computed = walk.Run(firsts, computation_.loop, out);
    if (computed < count) return Failure(RowOfValue(shaped, computed));
    return std::move(out).ToColumn(rows_, TRY(ShapeLevels(shaped, pool_)));
  }

  // A batch of tensors: their own shapes may differ, so each is a row for a moment.
  absl::StatusOr<Column> RunUnstacked(const Operand& shaped) const {
    const core::Level& level = shaped.column.levels().front();
    CHECK(level.fixed());
    std::vector<Operand> inner(operands_.begin(), operands_.end());
    for (Operand& operand : inner) {
      if (!operand.constant) operand.column = operand.column.Unstack();
    }
    const Broadcaster below(rows_ * level.size, inner, computation_, pool_);
    return TRY(below.Run()).Stack(level.size);
  }

  absl::StatusOr<Column> RunByRow() const {
    core::Tensors results;
    for (int64_t row = 0; row < rows_; ++row) results.push_back(TRY(RunRow(row)));
    return core::FromRows(computation_.dtype, std::move(results), pool_);
  }

  absl::StatusOr<Tensor> RunRow(int64_t row) const {
    absl::InlinedVector<Tensor, 4> tensors;
    absl::InlinedVector<Shape, 4> shapes;
    absl::InlinedVector<Values, 4> firsts;
    for (const Operand& operand : operands_) {
      absl::StatusOr<Tensor> tensor = operand.column.Row(operand.constant ? 0 : row);
      if (!tensor.ok()) return RowErrorOf(row, tensor.status());
      tensors.push_back(*std::move(tensor));
      shapes.push_back(tensors.back().shape());
      firsts.push_back(ValuesOf(tensors.back()));
    }
    const Shape result = TRY(BroadcastShapes(row, shapes));
    const absl::StatusOr<int64_t> count = result.CountChecked();
    if (!count.ok()) return RowErrorOf(row, count.status());
    Walk walk(size());
    AddShapes(walk, result, shapes);
    ValueWriter out = TRY(Open(row, 1, *count));
    if (walk.Run(firsts, computation_.loop, out) < *count) return Failure(row);
    return std::move(out).ToTensor(result);
  }

  absl::Status Failure(int64_t row) const {
    if (computation_.found != nullptr) return RowError(row, *computation_.found);
    CHECK(!computation_.failure.empty());
    return RowError(row, computation_.failure);
  }

  const int64_t rows_;
  const absl::Span<const Operand> operands_;
  const Computation& computation_;
  core::Pool& pool_;
};

}  // namespace

absl::StatusOr<Column> Broadcast(int64_t rows, absl::Span<const Operand> operands,
                                 const Computation& computation, core::Pool& pool) {
  return Broadcaster(rows, operands, computation, pool).Run();
}

}  // namespace millrace::kernels
