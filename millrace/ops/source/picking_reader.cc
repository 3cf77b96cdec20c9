#include "millrace/ops/source/picking_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

// The rows of ranges, one by one.
RowRanges Singles(const RowRanges& ranges) {
  RowRanges singles;
  for (const lanes::RowRange& range : ranges) {
    for (int64_t row = range.begin; row < range.end; ++row) {
      singles.push_back({range.split, row, row + 1});
    }
  }
  return singles;
}

bool StandsBefore(const lanes::RowRange& a, const lanes::RowRange& b) {
  return a.split != b.split ? a.split < b.split : a.begin < b.begin;
}

// Gives rows in order: good ones together, as far as a bad one.
absl::Status GiveInOrder(const std::vector<PickingReader::Picked>& picked,
                         core::Pool& pool, RowsSink& sink) {
  std::vector<core::Block> good;
  const auto give = [&]() -> absl::Status {
    if (good.empty()) return absl::OkStatus();
    return sink.Give(TRY(core::Concatenate(std::exchange(good, {}), pool)));
  };
  for (const PickingReader::Picked& row : picked) {
    if (!row.bad) {
      good.push_back(row.row);
      continue;
    }
    TRY(give());
    TRY(sink.LeaveOut(*row.bad));
  }
  return give();
}

}  // namespace

// Takes rows apart as they come.
class PickingReader::Rows final : public RowsSink {
 public:
  explicit Rows(std::vector<Picked>* rows) : rows_(rows) {}

  absl::Status Give(core::Block block) override {
    for (int64_t row = 0; row < block.rows(); ++row) {
      rows_->push_back({.row = block.Slice(row, 1)});
    }
    return absl::OkStatus();
  }

  absl::Status LeaveOut(const BadRow& row) override {
    rows_->push_back({.row = {}, .bad = row});
    return absl::OkStatus();
  }

 private:
  std::vector<Picked>* rows_;
};

PickingReader::PickingReader(const Source& source, const RowRanges& ranges,
                             core::Pool& pool)
    : source_(source), rows_(Singles(ranges)), pool_(pool) {}

absl::Status PickingReader::Fetch() {
  if (ended_ || !picked_.empty()) return absl::OkStatus();
  return Read();
}

absl::StatusOr<bool> PickingReader::FetchNow() {
  return ended_ || !picked_.empty() || !source_.waits();
}

absl::Status PickingReader::Read() {
  std::vector<size_t> places(rows_.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::ranges::sort(places, StandsBefore, [&](size_t place) { return rows_[place]; });
  std::vector<Picked> in_file_order;
  for (size_t i = 0; i < places.size();) {
    lanes::RowRange run = rows_[places[i]];
    for (++i; i < places.size() && rows_[places[i]].split == run.split &&
              rows_[places[i]].begin == run.end;
         ++i) {
      ++run.end;
    }
    TRY(ReadRun(run, in_file_order));
  }
  CHECK_EQ(in_file_order.size(), rows_.size());
  picked_.resize(rows_.size());
  for (size_t i = 0; i < places.size(); ++i) {
    picked_[places[i]] = std::move(in_file_order[i]);
  }
  return absl::OkStatus();
}

absl::Status PickingReader::ReadRun(const lanes::RowRange& run,
                                    std::vector<Picked>& rows) {
  const size_t before = rows.size();
  const std::unique_ptr<Reader> reader = TRY(source_.Open(run));
  Rows sink(&rows);
  while (true) {
    TRY(reader->Fetch());
    std::optional<FoundWork> work = TRY(reader->Find());
    if (!work) break;
    TRY((*std::move(work))(sink));
  }
  const auto found = static_cast<int64_t>(rows.size() - before);
  if (found == run.rows()) return absl::OkStatus();
  // Where the framing is broken, one error stands for all rows behind.
  rows.resize(before);
  return ReadOneByOne(run, rows);
}

absl::Status PickingReader::ReadOneByOne(const lanes::RowRange& run,
                                         std::vector<Picked>& rows) {
  if (run.rows() == 1) {
    return absl::DataLossError(
        "the file has no such row: it changed, or its index is of another file; make "
        "the index anew with `millrace data index`");
  }
  for (int64_t row = run.begin; row < run.end; ++row) {
    TRY(ReadRun({run.split, row, row + 1}, rows));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<FoundWork>> PickingReader::Find() {
  if (ended_) return std::nullopt;
  if (picked_.empty()) TRY(Read());
  ended_ = true;
  return [picked = std::move(picked_), &pool = pool_](RowsSink& sink) {
    return GiveInOrder(picked, pool, sink);
  };
}

}  // namespace millrace::ops
