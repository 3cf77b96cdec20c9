#include "millrace/exec/progress.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"

namespace millrace::exec {

Stream RestOf(const Stream& stream, int64_t position) {
  Stream rest;
  for (const TurnRows& part : stream) {
    const int64_t taken = std::min(position, part.rows);
    position -= taken;
    if (taken < part.rows) rest.push_back({part.turn, part.rows - taken});
  }
  return rest;
}

void Progress::Begin(int64_t turn, Stream before) {
  CHECK_LT(turn, std::ssize(lanes_));
  if (std::ssize(runs_) <= turn) runs_.resize(turn + 1);
  before.push_back({turn, lanes::kRowsMax});
  runs_[turn].stream = std::move(before);
}

void Progress::End(int64_t turn, Stream stream) {
  CHECK_LT(turn, std::ssize(runs_));
  runs_[turn] = {.stream = std::move(stream), .ended = true};
}

std::vector<int64_t> Progress::Taken(const Positions& positions) const {
  std::vector<int64_t> taken(lanes_.size(), 0);
  for (size_t turn = 0; turn < std::min(runs_.size(), positions.size()); ++turn) {
    int64_t left = positions[turn];
    for (const TurnRows& part : runs_[turn].stream) {
      const int64_t rows = std::min(left, part.rows);
      taken[part.turn] += rows;
      left -= rows;
    }
  }
  return taken;
}

std::vector<lanes::LaneRange> Progress::LeftAfter(const Positions& positions,
                                                  bool in_order) const {
  const std::vector<int64_t> taken = Taken(positions);
  const auto own_rows = [&](size_t turn) {
    int64_t rows = 0;
    for (const TurnRows& part : runs_[turn].stream) {
      if (part.turn == static_cast<int64_t>(turn)) rows += part.rows;
    }
    return rows;
  };
  std::vector<lanes::LaneRange> left;
  for (size_t turn = 0; turn < lanes_.size(); ++turn) {
    lanes::LaneRange lane = lanes_[turn];
    lane.begin += taken[turn];
    const bool may_end = !in_order || left.empty();
    const bool ended = turn < runs_.size() && runs_[turn].ended && may_end &&
                       taken[turn] == own_rows(turn);
    if (!ended && lane.rows() > 0) left.push_back(lane);
  }
  return left;
}

}  // namespace millrace::exec
