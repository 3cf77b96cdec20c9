// Shuffle: mixes rows within a window that moves along the lane. Together with the
// permutation of chunks over the whole data (lanes/cutting.h) this is what a user calls
// shuffling. What comes out does not depend on how the lane was cut into blocks.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/transform/held_rows.h"
#include "millrace/ops/window_shuffle.h"

namespace millrace::ops {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 20;  // Of what is given at once.
constexpr int64_t kBlockRowsMax = 8192;

struct ShuffleArgs {
  int64_t window = 1;
  std::optional<int64_t> seed;
};

class Shuffle final : public Operator {
 public:
  Shuffle(const ShuffleArgs& args, const LaneContext& lane)
      : lane_(lane),
        held_(lane.pool),
        window_(args.window, ShuffleGenerator(SeedOf(args.seed, lane), lane)) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    if (block.rows() > 0) row_bytes_ = block.content_bytes() / block.rows() + 1;
    const int64_t rows = block.rows();
    const int32_t source = held_.Keep(std::move(block));
    std::vector<core::RowRef> leaving;
    for (int64_t row = 0; row < rows; ++row) {
      window_.Push({.source = source, .row = row}, leaving);
    }
    TRY(EmitRows(leaving, out));
    return held_.Compact(std::ssize(window_.waiting()), [this](HeldRows::Visit visit) {
      for (core::RowRef& row : window_.waiting()) visit(row);
    });
  }

  // The window leaves block by block.
  absl::StatusOr<Held> Finish(Emitter& out) override {
    if (!std::exchange(finishing_, true)) window_.Finish();
    const absl::Span<const core::RowRef> all = window_.waiting();
    TRY(EmitRows(all.subspan(finished_, BlockRows()), out));
    finished_ = std::min(finished_ + BlockRows(), all.size());
    return finished_ < all.size() ? Held::kMore : Held::kNothing;
  }

 private:
  absl::Status EmitRows(absl::Span<const core::RowRef> rows, Emitter& out) {
    for (size_t at = 0; at < rows.size(); at += BlockRows()) {
      TRY(out.Emit(TRY(held_.Gather(rows.subspan(at, BlockRows())))));
    }
    return absl::OkStatus();
  }

  size_t BlockRows() const {
    return static_cast<size_t>(
        std::clamp<int64_t>(kBlockBytes / row_bytes_, 1, kBlockRowsMax));
  }

  const LaneContext lane_;
  HeldRows held_;
  int64_t row_bytes_ = 1;  // Of the latest, about.
  WindowShuffle<core::RowRef> window_;
  bool finishing_ = false;
  size_t finished_ = 0;  // Rows of the window that have left, once finishing.
};

}  // namespace

OperatorDef ShuffleDef() {
  return Define<Shuffle, ShuffleArgs>("shuffle")
      .Doc(
          "Puts rows in random order: the chunks of the whole data are permuted, and "
          "rows are mixed within a moving window. Behind operators that go by the "
          "order "
          "of rows, such as take, chunks stay in theirs.")
      .Arg("window", &ShuffleArgs::window, "Rows to choose the next one from.",
           AtLeast(1), AtMost(int64_t{1} << 40), Required())
      .Arg("seed", &ShuffleArgs::seed, "By default the job's.", AtLeast(0), Seed())
      .Traits({.order_sensitive = true, .reorders = true, .keeps_fields = true})
      .Random([](const ShuffleArgs&) { return true; })
      .Infer([](const ShuffleArgs&, const core::Spec& in) { return in; })
      .Count([](const ShuffleArgs&, const ir::Cardinality& in) { return in; });
}

}  // namespace millrace::ops
