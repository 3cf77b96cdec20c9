// A set of lane numbers (or of row numbers) as ranges. Finished lanes of a pass are
// nearly all the lanes up to some number, so a set of a million of them is a handful of
// ranges, in a state and in its text. Two equal sets have equal ranges. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::lanes {

// Lanes begin, begin + 1, ..., end - 1.
struct LaneSpan {
  int64_t begin = 0;
  int64_t end = 0;

  bool operator==(const LaneSpan&) const = default;
};

class LaneSet {
 public:
  LaneSet() = default;

  // Makes the set of these lanes, given in any order, also repeatedly.
  static LaneSet Of(std::vector<int64_t> lanes);

  // Adds the lanes from `begin` up to `end`, costing O(spans). Requires: begin <= end.
  void Add(int64_t begin, int64_t end);

  bool Contains(int64_t lane) const;

  // Finds the first from this one on that it does not have.
  int64_t FirstMissing(int64_t lane) const;

  // Counts the lanes.
  int64_t size() const;

  // The ranges: ascending, none empty, none touching the next.
  const std::vector<LaneSpan>& spans() const { return spans_; }

  // Lists the lanes one by one, ascending.
  std::vector<int64_t> Lanes() const;

  // Writes "0-3 7"; nothing for the empty set.
  std::string ToString() const;

  bool operator==(const LaneSet&) const = default;

 private:
  std::vector<LaneSpan> spans_;
};

}  // namespace millrace::lanes
