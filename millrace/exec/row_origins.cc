#include "millrace/exec/row_origins.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/origins.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

void RowOrigins::AddSource(int64_t call_number,
                           std::shared_ptr<const ops::Source> source,
                           const lanes::Manifest& manifest) {
  const base::MutexLock lock(&mutex_);
  Known& known = sources_[call_number] = {.source = std::move(source), .splits = {}};
  for (const lanes::Split& split : manifest.splits) known.splits.push_back(split.name);
}

void RowOrigins::Note(ops::MadeRows rows) {
  const base::MutexLock lock(&mutex_);
  noted_rows_ += rows.from.size();
  noted_.push_back(std::move(rows));
  if (recent_rows_max_) {
    while (noted_rows_ > *recent_rows_max_ && noted_.size() > 1) {
      noted_rows_ -= noted_.front().from.size();
      noted_.pop_front();
    }
    return;
  }
  const std::vector<core::RowId>& made = noted_.back().made;
  for (size_t row = 0; row < made.size(); ++row) {
    places_[made[row]] = {noted_.size() - 1, row};
  }
}

absl::Span<const core::RowId> RowOrigins::MadeOf(const core::RowId& id) const {
  if (!recent_rows_max_) {
    const auto found = places_.find(id);
    if (found == places_.end()) return {};
    return noted_[found->second.first].FromOf(found->second.second);
  }
  for (const ops::MadeRows& rows : noted_) {
    const auto found = std::ranges::find(rows.made, id);
    if (found != rows.made.end()) return rows.FromOf(found - rows.made.begin());
  }
  return {};
}

void RowOrigins::Trace(const core::RowId& id, std::vector<core::RowId>& rows) const {
  const absl::Span<const core::RowId> made_of = MadeOf(id);
  if (made_of.empty()) rows.push_back(id);
  for (const core::RowId& from : made_of) Trace(from, rows);
}

std::optional<std::pair<int64_t, ops::SourceRow>> RowOrigins::Find(
    const core::RowId& id) const {
  for (const auto& [number, known] : sources_) {
    const std::optional<ops::SourceRow> row = ops::SourceRowOf(id, number);
    if (row && row->split < std::ssize(known.splits)) return std::pair(number, *row);
  }
  return std::nullopt;
}

std::vector<std::string> RowOrigins::NamesOf(const core::RowId& id) const {
  const base::MutexLock lock(&mutex_);
  std::vector<core::RowId> rows;
  // Most rows are a source's: what was noted is only looked through for others.
  if (Find(id)) {
    rows.push_back(id);
  } else {
    Trace(id, rows);
  }
  std::vector<std::string> names;
  for (const core::RowId& row : rows) {
    const auto found = Find(row);
    if (!found) return {};
    names.push_back(NameOfSourceRow(found->first, found->second));
  }
  return names;
}

std::string RowOrigins::NameOfSourceRow(int64_t number,
                                        const ops::SourceRow& row) const {
  const Known& known = sources_.at(number);
  std::string name = known.source->NameOfRow(row.split, row.row);
  if (!name.empty()) return name;
  return base::StrCat("row ", row.row, " of ", known.splits[row.split]);
}

absl::StatusOr<std::map<core::RowId, ops::RowPlace>> RowOrigins::PlacesOfSourceRows(
    const std::vector<core::RowId>& ids) const {
  // By source and split, so that rows of one file are looked for together.
  std::map<std::pair<int64_t, int64_t>, std::map<core::RowId, int64_t>> wanted;
  for (const core::RowId& id : ids) {
    const auto found = Find(id);
    if (!found) {
      return absl::UnimplementedError(
          "a row was made by an operator that does not say of which others");
    }
    wanted[{found->first, found->second.split}][id] = found->second.row;
  }
  std::map<core::RowId, ops::RowPlace> places;
  for (const auto& [where, rows] : wanted) {
    std::vector<int64_t> numbers;
    for (const auto& [id, number] : rows) numbers.push_back(number);
    const std::vector<ops::RowPlace> found =
        TRY(sources_.at(where.first).source->PlacesOf(where.second, numbers));
    size_t next = 0;
    for (const auto& [id, number] : rows) places[id] = found[next++];
  }
  return places;
}

absl::StatusOr<std::vector<std::vector<ops::RowPlace>>> RowOrigins::PlacesOf(
    absl::Span<const core::RowId> ids) const {
  const base::MutexLock lock(&mutex_);
  std::vector<core::RowId> all;
  std::vector<size_t> ends;
  for (const core::RowId& id : ids) {
    Trace(id, all);
    ends.push_back(all.size());
  }
  const std::map<core::RowId, ops::RowPlace> known = TRY(PlacesOfSourceRows(all));
  std::vector<std::vector<ops::RowPlace>> places(ids.size());
  size_t next = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    for (; next < ends[i]; ++next) places[i].push_back(known.at(all[next]));
  }
  return places;
}

}  // namespace millrace::exec
