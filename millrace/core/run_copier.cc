#include "millrace/core/run_copier.h"

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
#include "millrace/base/status.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::core {
namespace {

// A level of one source, ready for a loop over many runs.
struct Places {
  int64_t size;
  const int64_t* offsets;
  bool gaps;
};

int64_t Length(const Run& run) { return run.extent.end - run.extent.begin; }

Extent Below(const Places& places, Extent here) {
  if (places.size == kUnknownSize) {
    const int64_t* const first = places.offsets + here.begin * (places.gaps ? 2 : 1);
    return {first[0], first[here.end - here.begin]};
  }
  return {here.begin * places.size, here.end * places.size};
}

// Writes where each value of a run ends, when the first begins at `begin`.
void WriteEnds(const Places& places, Extent here, int64_t begin, int64_t* out) {
  if (places.size != kUnknownSize) {
    for (int64_t i = here.begin; i < here.end; ++i) *out++ = begin += places.size;
    return;
  }
  const int64_t shift = begin - places.offsets[here.begin];
  for (int64_t i = here.begin; i < here.end; ++i) {
    *out++ = places.offsets[i + 1] + shift;
  }
}

// Of values with gaps between them each is a run by itself.
Runs OneByOne(const Runs& runs) {
  Runs singles;
  for (const Run& run : runs) {
    for (int64_t i = run.extent.begin; i < run.extent.end; ++i) {
      singles.push_back({run.source, {i, i + 1}});
    }
  }
  return singles;
}

}  // namespace

absl::StatusOr<Tensor> RowOf(const Column& column, int64_t row, Pool& pool) {
  if (!column.HoldsTensors() || column.levels().empty()) return column.Row(row);
  const Column inside = TRY(ToUniform(column.Slice(row, 1).Unstack(), pool));
  if (inside.rows() == 0) {
    return absl::InvalidArgumentError(
        "row is an empty batch of tensors: it has no shape");
  }
  return inside.Stack(inside.rows()).Row(0);
}

Runs RunsOf(absl::Span<const RowRef> rows) {
  Runs runs;
  runs.reserve(rows.size());
  while (!rows.empty()) {
    const size_t length = RunLength(rows);
    runs.push_back({rows[0].source, {rows[0].row, rows[length - 1].row + 1}});
    rows.remove_prefix(length);
  }
  return runs;
}

RunCopier::RunCopier(absl::Span<const Column> columns, Runs runs, Pool& pool)
    : columns_(columns), runs_(std::move(runs)), pool_(pool) {
  CHECK(!columns_.empty());
  for (const Run& run : runs_) total_ += Length(run);
}

absl::StatusOr<Column> RunCopier::CopyAll() {
  const int64_t rows = total_;
  Levels levels = TRY(CopyLevels(columns_[0].levels().size()));
  Buffer values = TRY(CopyValues());
  return Column::FromLevels(columns_[0].dtype(), rows, std::move(levels),
                            std::move(values));
}

absl::StatusOr<Column> RunCopier::CopyByRow(size_t depth) {
  const int64_t rows = total_;
  Levels levels = TRY(CopyLevels(depth));
  const Column below =
      TRY(FromRows(columns_[0].dtype(), TRY(TensorsBelow(depth)), pool_));
  return levels.empty() ? below : below.Nest(rows, std::move(levels));
}

absl::StatusOr<Levels> RunCopier::CopyLevels(size_t depth) {
  Levels levels;
  for (size_t i = 0; i < depth; ++i) levels.push_back(TRY(CopyLevel(i)));
  return levels;
}

absl::StatusOr<Level> RunCopier::CopyLevel(size_t depth) {
  const std::optional<int64_t> size = CommonSize(depth);
  if (!size) return Level::Variable(TRY(CopyOffsets(depth)));
  for (Run& run : runs_) {
    run.extent = {run.extent.begin * *size, run.extent.end * *size};
  }
  total_ *= *size;
  return Level::Fixed(*size);
}

std::optional<int64_t> RunCopier::CommonSize(size_t depth) const {
  const auto size_of = [&](const Run& run) {
    return columns_[run.source].levels()[depth].size;
  };
  const int64_t size = size_of(runs_.empty() ? Run{} : runs_[0]);
  if (size == kUnknownSize) return std::nullopt;
  const auto alike = [&](int64_t other) { return other == size; };
  const bool all_alike = std::ranges::all_of(columns_, [&](const Column& column) {
    return alike(column.levels()[depth].size);
  });
  if (all_alike || std::ranges::all_of(runs_, alike, size_of)) return size;
  return std::nullopt;
}

absl::StatusOr<Buffer> RunCopier::CopyOffsets(size_t depth) {
  std::vector<Places> places;
  for (const Column& column : columns_) {
    const Level& level = column.levels()[depth];
    places.push_back({level.size, level.offsets.As<int64_t>().data(), level.gaps});
  }
  if (std::ranges::any_of(places, &Places::gaps)) runs_ = OneByOne(runs_);
  Buffer buffer = TRY(pool_.AllocateFor<int64_t>(total_ + 1));
  int64_t* out = buffer.MutableAs<int64_t>().data();
  int64_t end = 0;
  *out++ = end;
  for (Run& run : runs_) {
    const Extent below = Below(places[run.source], run.extent);
    const int64_t length = Length(run);
    if (length > 1) WriteEnds(places[run.source], run.extent, end, out);
    end += below.end - below.begin;
    out += length;
    out[-1] = end;  // All there is to write for most runs.
    run.extent = below;
  }
  total_ = end;
  return buffer;
}

absl::StatusOr<Buffer> RunCopier::CopyValues() const {
  const DType dtype = columns_[0].dtype();
  const int64_t size = IsVariable(dtype) ? 1 : SizeOf(dtype);
  Buffer buffer = TRY(pool_.Allocate(total_ * size));
  std::vector<absl::Span<const std::byte>> pieces;
  pieces.reserve(runs_.size());
  for (const Run& run : runs_) {
    const std::byte* const first = columns_[run.source].values().data();
    pieces.emplace_back(first + run.extent.begin * size, Length(run) * size);
  }
  std::byte* out = buffer.mutable_data();
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i + 1 < pieces.size()) PrefetchStart(pieces[i + 1]);
    if (!pieces[i].empty()) std::memcpy(out, pieces[i].data(), pieces[i].size());
    out += pieces[i].size();
  }
  return buffer;
}

absl::StatusOr<Tensors> RunCopier::TensorsBelow(size_t depth) const {
  std::vector<Column> below(columns_.begin(), columns_.end());
  for (Column& column : below) {
    for (size_t i = 0; i < depth; ++i) column = column.Below();
  }
  Tensors tensors;
  for (const Run& run : runs_) {
    for (int64_t row = run.extent.begin; row < run.extent.end; ++row) {
      tensors.push_back(TRY(RowOf(below[run.source], row, pool_)));
    }
  }
  return tensors;
}

}  // namespace millrace::core
