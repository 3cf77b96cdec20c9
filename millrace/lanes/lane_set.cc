#include "millrace/lanes/lane_set.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "millrace/base/check.h"

namespace millrace::lanes {

LaneSet LaneSet::Of(std::vector<int64_t> lanes) {
  std::ranges::sort(lanes);
  LaneSet set;
  for (const int64_t lane : lanes) {
    if (set.spans_.empty() || set.spans_.back().end < lane) {
      set.spans_.push_back({lane, lane + 1});
    } else {
      set.spans_.back().end = lane + 1;
    }
  }
  return set;
}

void LaneSet::Add(int64_t begin, int64_t end) {
  CHECK_LE(begin, end);
  if (begin == end) return;
  // Every span that overlaps or touches the new one becomes part of it.
  const auto first = std::ranges::partition_point(
      spans_, [&](const LaneSpan& s) { return s.end < begin; });
  const auto last = std::ranges::partition_point(
      first, spans_.end(), [&](const LaneSpan& s) { return s.begin <= end; });
  LaneSpan joined{begin, end};
  if (first != last) {
    joined.begin = std::min(begin, first->begin);
    joined.end = std::max(end, std::prev(last)->end);
  }
  spans_.insert(spans_.erase(first, last), joined);
}

bool LaneSet::Contains(int64_t lane) const { return FirstMissing(lane) > lane; }

int64_t LaneSet::FirstMissing(int64_t lane) const {
  const auto span = std::ranges::partition_point(
      spans_, [&](const LaneSpan& s) { return s.end <= lane; });
  return span != spans_.end() && span->begin <= lane ? span->end : lane;
}

int64_t LaneSet::size() const {
  int64_t lanes = 0;
  for (const LaneSpan& span : spans_) lanes += span.end - span.begin;
  return lanes;
}

std::vector<int64_t> LaneSet::Lanes() const {
  std::vector<int64_t> lanes;
  lanes.reserve(size());
  for (const LaneSpan& span : spans_) {
    for (int64_t lane = span.begin; lane < span.end; ++lane) lanes.push_back(lane);
  }
  return lanes;
}

std::string LaneSet::ToString() const {
  return absl::StrJoin(spans_, " ", [](std::string* out, const LaneSpan& span) {
    absl::StrAppend(out, span.begin);
    if (span.end - span.begin > 1) absl::StrAppend(out, "-", span.end - 1);
  });
}

}  // namespace millrace::lanes
