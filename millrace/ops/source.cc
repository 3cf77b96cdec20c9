#include "millrace/ops/source.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source/picking_reader.h"

namespace millrace::ops {

namespace {

// Leaves all out for now.
class NotesBadRows final : public BadRows {
 public:
  absl::Status LeaveOut(const BadRow& row) override {
    rows.push_back(row);
    return absl::OkStatus();
  }

  std::vector<BadRow> rows;
};

}  // namespace

bool FoundWork::FetchNow() const {
  return std::ranges::all_of(wanted,
                             [](const auto& fetch) { return fetch->FetchNow(); });
}

void FoundWork::Fetch() const {
  for (const std::shared_ptr<FetchAhead>& fetch : wanted) fetch->Fetch();
}

absl::Status FoundWork::operator()(RowsSink& sink) && {
  Fetch();
  return std::move(make)(sink);
}

absl::StatusOr<std::optional<FoundWork>> Reader::Find() {
  NotesBadRows bad;
  absl::StatusOr<std::optional<core::Block>> next = Next(bad);
  if (bad.rows.empty() && !TRY(next)) return std::nullopt;
  return [next = std::move(next), bad = std::move(bad.rows)](RowsSink& sink) {
    for (const BadRow& row : bad) TRY(sink.LeaveOut(row));
    const std::optional<core::Block> block = TRY(next);
    return block && block->rows() > 0 ? sink.Give(*block) : absl::OkStatus();
  };
}

std::vector<RowPlace> PlacesByNumber(const std::string& file,
                                     absl::Span<const int64_t> rows) {
  std::vector<RowPlace> places;
  for (const int64_t row : rows) places.push_back({.file = file, .row = row});
  return places;
}

absl::StatusOr<std::vector<RowPlace>> Source::PlacesOf(
    int64_t /*split*/, absl::Span<const int64_t> rows) const {
  return PlacesByNumber("", rows);
}

absl::StatusOr<std::unique_ptr<Reader>> OpenAll(const Source& source, RowRanges ranges,
                                                core::Pool& pool) {
  CHECK(!ranges.empty());
  if (ranges.size() == 1) return source.Open(ranges[0]);
  return std::make_unique<PickingReader>(source, std::move(ranges), pool);
}

// Keeps what is given.
class FindingReader::Kept final : public RowsSink {
 public:
  explicit Kept(FindingReader* reader) : reader_(reader) {}

  absl::Status Give(core::Block block) override {
    reader_->kept_.emplace_back(std::move(block));
    return absl::OkStatus();
  }

  absl::Status LeaveOut(const BadRow& row) override {
    reader_->kept_.emplace_back(row);
    return absl::OkStatus();
  }

 private:
  FindingReader* reader_;
};

absl::StatusOr<std::optional<core::Block>> FindingReader::Next(BadRows& bad_rows) {
  if (kept_.empty()) {
    std::optional<FoundWork> work = TRY(Find());
    if (!work) return std::nullopt;
    Kept kept(this);
    absl::Status status = (*std::move(work))(kept);
    if (!status.ok()) kept_.emplace_back(std::move(status));
  }
  while (!kept_.empty()) {
    const std::variant<core::Block, BadRow, absl::Status> first =
        std::move(kept_.front());
    kept_.pop_front();
    if (const auto* block = std::get_if<core::Block>(&first)) return *block;
    if (const auto* error = std::get_if<absl::Status>(&first)) return *error;
    TRY(bad_rows.LeaveOut(std::get<BadRow>(first)));
  }
  return core::Block();
}

namespace {

// Gives the row at each place the identity of the row of a split that `number_at` says.
template <typename NumberAt>
absl::StatusOr<core::Block> WithIds(const core::Block& block, int64_t split,
                                    const SourceContext& context,
                                    const NumberAt& number_at) {
  if (!context.with_ids) return block;
  core::Buffer ids = TRY(context.pool.AllocateFor<uint64_t>(2 * block.rows()));
  const absl::Span<uint64_t> words = ids.MutableAs<uint64_t>();
  for (int64_t row = 0; row < block.rows(); ++row) {
    const core::RowId id = SourceRowId(context.call_number, split, number_at(row));
    words[2 * row] = id.hi;
    words[2 * row + 1] = id.lo;
  }
  return block.WithIds(
      core::Column::Dense(core::DType::kUint64, block.rows(), {2}, std::move(ids)));
}

}  // namespace

std::optional<SourceRow> SourceRowOf(const core::RowId& id, int64_t call_number) {
  const SourceRow row = {
      .split = static_cast<int64_t>(id.hi & ((uint64_t{1} << 48) - 1)),
      .row = static_cast<int64_t>(id.lo)};
  if (row.row < 0 || SourceRowId(call_number, row.split, row.row) != id) {
    return std::nullopt;
  }
  return row;
}

absl::StatusOr<core::Block> WithSourceIds(const core::Block& block, int64_t split,
                                          int64_t begin, const SourceContext& context) {
  return WithIds(block, split, context, [&](int64_t row) { return begin + row; });
}

absl::StatusOr<core::Block> WithSourceIds(const core::Block& block, int64_t split,
                                          absl::Span<const int64_t> numbers,
                                          const SourceContext& context) {
  CHECK_EQ(numbers.size(), block.rows());
  return WithIds(block, split, context, [&](int64_t row) { return numbers[row]; });
}

}  // namespace millrace::ops
