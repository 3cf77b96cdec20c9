#include "millrace/exec/progress.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/lanes/rest.h"

namespace millrace::exec {

void Progress::EndLane(int64_t rows) {
  CHECK_LT(ends_.size(), lanes_.size());
  ends_.push_back((ends_.empty() ? 0 : ends_.back()) + rows);
}

std::vector<lanes::LaneRange> Progress::LeftAfter(int64_t position) const {
  // A lane that ended where the last batch did is finished, also without rows.
  const auto open =
      static_cast<size_t>(std::ranges::partition_point(
                              ends_, [&](int64_t end) { return end <= position; }) -
                          ends_.begin());
  std::vector<lanes::LaneRange> left(lanes_.begin() + static_cast<int64_t>(open),
                                     lanes_.end());
  const int64_t begin = open == 0 ? 0 : ends_[open - 1];
  if (left.empty()) return left;
  left.front().begin += position - begin;
  if (left.front().rows() == 0) left.erase(left.begin());
  return left;
}

}  // namespace millrace::exec
