#include "millrace/exec/read_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "millrace/core/pool.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"
#include "millrace/ops/window_shuffle.h"

namespace millrace::exec {
namespace {

constexpr int64_t kRangeRowsMax = int64_t{1} << 16;
constexpr int64_t kGroupBytes = int64_t{1} << 20;
constexpr int64_t kGroupRowsMax = 512;

// Joins ranges that follow one another, so that fewer readers are opened.
std::vector<ops::RowRanges> Coalesced(const std::vector<lanes::RowRange>& ranges) {
  std::vector<ops::RowRanges> parts;
  for (const lanes::RowRange& range : ranges) {
    lanes::RowRange* const last = parts.empty() ? nullptr : &parts.back().back();
    const bool follows = last != nullptr && last->split == range.split &&
                         last->end == range.begin &&
                         range.end - last->begin <= kRangeRowsMax;
    if (follows) {
      last->end = range.end;
    } else {
      parts.push_back({range});
    }
  }
  return parts;
}

// By the mean row of some of the splits that rows stand in: a lane is opened often, and
// there may be a million splits.
int64_t GroupRows(const PassPlan& plan, const std::vector<lanes::RowRange>& ranges) {
  constexpr size_t kLookedAt = 64;
  double rows = 1;
  double bytes = 0;
  const size_t step = ranges.size() / kLookedAt + 1;
  for (size_t i = 0; i < ranges.size(); i += step) {
    const lanes::Split& split = plan.manifest.splits[ranges[i].split];
    rows += static_cast<double>(split.rows.value_or(0));
    bytes += static_cast<double>(split.bytes.count());
  }
  const auto row_bytes = static_cast<int64_t>(bytes / rows) + 1;
  return std::clamp<int64_t>(kGroupBytes / row_bytes, 1, kGroupRowsMax);
}

}  // namespace

std::vector<lanes::RowRange> ReadOrder(const PassPlan& plan, int64_t lane) {
  std::vector<lanes::RowRange> content = plan.lanes.Content(lane);
  if (!plan.shuffled_reading) return content;
  ops::LaneContext context = plan.ContextOf(lane, core::HeapPool());
  context.call_number = plan.shuffled_reading->call_number;
  ops::WindowShuffle<lanes::RowRange> window(
      plan.shuffled_reading->window,
      ops::ShuffleGenerator(plan.shuffled_reading->seed, context));
  std::vector<lanes::RowRange> order;
  for (const lanes::RowRange& range : content) {
    for (int64_t row = range.begin; row < range.end; ++row) {
      window.Push({range.split, row, row + 1}, order);
    }
  }
  window.Finish();
  order.insert(order.end(), window.waiting().begin(), window.waiting().end());
  return order;
}

std::vector<ops::RowRanges> PartsOf(const PassPlan& plan,
                                    const std::vector<lanes::RowRange>& rows) {
  if (!plan.cut.permuted && !plan.shuffled_reading) return Coalesced(rows);
  const auto group = static_cast<size_t>(GroupRows(plan, rows));
  std::vector<ops::RowRanges> parts;
  for (size_t at = 0; at < rows.size(); at += group) {
    const size_t end = std::min(at + group, rows.size());
    parts.emplace_back(rows.begin() + static_cast<int64_t>(at),
                       rows.begin() + static_cast<int64_t>(end));
  }
  return parts;
}

}  // namespace millrace::exec
