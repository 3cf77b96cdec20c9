// Window: rows of several consecutive rows each, which may overlap: the fields of the
// rows in a window as lists.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/transform/grouping.h"

namespace millrace::ops {
namespace {

constexpr int64_t kRowsMax = int64_t{1} << 20;
constexpr int64_t kRowsAtOnce = 1 << 14;  // In the windows of one block.

struct WindowArgs {
  int64_t size = 1;
  std::optional<int64_t> shift;
  int64_t stride = 1;
  bool drop_remainder = false;
  bool per_lane = false;

  int64_t step() const { return shift.value_or(size); }

  // Rows from the first of a window to its last.
  int64_t span() const { return (size - 1) * stride + 1; }
};

class Window final : public Operator {
 public:
  Window(const WindowArgs& args, const LaneContext& lane) : args_(args), lane_(lane) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    came_ += block.rows();
    blocks_.push_back(TRY(Stackable(block, lane_.pool)));
    ends_.push_back(came_);
    while (begin_ + args_.span() <= came_) TRY(EmitFull(out));
    DropPassed();
    return absl::OkStatus();
  }

  // Windows that begin before the end but are not full.
  absl::StatusOr<Held> Finish(Emitter& out) override {
    if (args_.drop_remainder || begin_ >= came_) return Held::kNothing;
    const int64_t rows = (came_ - begin_ + args_.stride - 1) / args_.stride;
    TRY(EmitWindows(1, rows, out));
    DropPassed();
    return begin_ < came_ ? Held::kMore : Held::kNothing;
  }

 private:
  absl::Status EmitFull(Emitter& out) {
    const int64_t full = (came_ - begin_ - args_.span()) / args_.step() + 1;
    const int64_t most = std::max<int64_t>(kRowsAtOnce / args_.size, 1);
    return EmitWindows(std::min(full, most), args_.size, out);
  }

  // Gives windows of so many rows each.
  absl::Status EmitWindows(int64_t windows, int64_t rows, Emitter& out) {
    std::vector<core::RowRef> all;
    all.reserve(windows * rows);
    for (int64_t window = 0; window < windows; ++window) {
      for (int64_t row = 0; row < rows; ++row) {
        all.push_back(At(begin_ + row * args_.stride));
      }
      begin_ += args_.step();
    }
    const std::vector<core::Block> blocks(blocks_.begin(), blocks_.end());
    const core::Block gathered = TRY(core::Gather(blocks, all, lane_.pool));
    return out.Emit(TRY(Stackable(gathered, lane_.pool)).Stack(rows));
  }

  // Where a row of the lane is.
  core::RowRef At(int64_t row) const {
    const auto block = std::upper_bound(ends_.begin(), ends_.end(), row);
    const auto source = static_cast<int32_t>(block - ends_.begin());
    return {.source = source, .row = row - *block + blocks_[source].rows()};
  }

  // Forgets blocks whose rows no window wants any more.
  void DropPassed() {
    while (!blocks_.empty() && ends_.front() <= begin_) {
      ends_.pop_front();
      blocks_.pop_front();
    }
  }

  const WindowArgs args_;
  const LaneContext lane_;
  std::deque<core::Block> blocks_;
  std::deque<int64_t> ends_;  // Of each, the number of its last row in the lane, + 1.
  int64_t came_ = 0;          // Rows so far.
  int64_t begin_ = 0;         // Of the next window.
};

ir::Cardinality CountWindows(const WindowArgs& args, const ir::Cardinality& in) {
  if (!in.known()) return in;
  if (args.per_lane && in.rows() > 0) return ir::Cardinality::Unknown();
  const int64_t most = args.drop_remainder ? in.rows() - args.span() + 1 : in.rows();
  return ir::Cardinality::Known((std::max<int64_t>(most, 0) + args.step() - 1) /
                                args.step());
}

}  // namespace

OperatorDef WindowDef() {
  return Define<Window, WindowArgs>("window")
      .Doc(
          "Gives rows of several consecutive rows each, which may overlap: every field "
          "is the list of theirs. What stands in such a list is up to a map behind.")
      .Arg("size", &WindowArgs::size, "Rows in a window.", AtLeast(1), AtMost(kRowsMax),
           Required())
      .Arg("shift", &WindowArgs::shift,
           "Rows from the beginning of a window to that of the next; by default its "
           "size, so that none overlap.",
           AtLeast(1), AtMost(kRowsMax))
      .Arg("stride", &WindowArgs::stride, "Rows from one in a window to the next.",
           AtLeast(1), AtMost(kRowsMax))
      .Arg("drop_remainder", &WindowArgs::drop_remainder,
           "Leave out windows at the end that are not full.")
      .Arg("per_lane", &WindowArgs::per_lane,
           "Begin anew with every lane, so that there can be many.")
      .Traits(
          {.order_sensitive = true, .changes_cardinality = true, .keeps_fields = true})
      .AcrossLanes([](const WindowArgs& args) { return !args.per_lane; })
      .Holds([](const WindowArgs& args) { return args.span(); })
      .Infer([](const WindowArgs& args, const core::Spec& in) {
        return in.Stacked(args.drop_remainder ? args.size : core::kUnknownSize);
      })
      .Count(CountWindows);
}

}  // namespace millrace::ops
