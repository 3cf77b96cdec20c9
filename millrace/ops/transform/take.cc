// Take, skip: the first rows of the pass, or all but those. Both go by a row's place in
// logical order, so a lane needs to know how many rows come before it.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"

#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

struct CountArgs {
  int64_t count = 0;
};

// Which places of the pass are kept.
struct Window {
  int64_t begin = 0;
  int64_t end = lanes::kRowsMax;

  // How many of `rows` rows from place `first` on are kept.
  int64_t Overlap(int64_t first, int64_t rows) const {
    return std::max<int64_t>(0, std::min(end, first + rows) - std::max(begin, first));
  }
};

Window TakenOf(const CountArgs& args) { return {.end = args.count}; }

Window RestOf(const CountArgs& args) { return {.begin = args.count}; }

// Passes the rows of a window on.
class Cut : public Operator {
 public:
  Cut(const Window& window, const LaneContext& lane)
      : window_(window), place_(lane.first_row) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    const int64_t first = std::exchange(place_, place_ + block.rows());
    const int64_t kept = window_.Overlap(first, block.rows());
    if (kept == 0) return absl::OkStatus();
    return out.Emit(block.Slice(std::max<int64_t>(window_.begin - first, 0), kept));
  }

  bool ended() const override { return place_ >= window_.end; }

 private:
  const Window window_;
  int64_t place_;  // Of the next row.
};

class Take final : public Cut {
 public:
  Take(const CountArgs& args, const LaneContext& lane) : Cut(TakenOf(args), lane) {}
};

class Skip final : public Cut {
 public:
  Skip(const CountArgs& args, const LaneContext& lane) : Cut(RestOf(args), lane) {}
};

ir::Cardinality CountTaken(const CountArgs& args, const ir::Cardinality& in) {
  if (in.infinite() || args.count == 0) return ir::Cardinality::Known(args.count);
  if (!in.known()) return in;
  return ir::Cardinality::Known(std::min(args.count, in.rows()));
}

ir::Cardinality CountRest(const CountArgs& args, const ir::Cardinality& in) {
  if (!in.known()) return in;
  return ir::Cardinality::Known(std::max<int64_t>(0, in.rows() - args.count));
}

constexpr ir::OperatorTraits kTraits = {.order_sensitive = true,
                                        .positional = true,
                                        .changes_cardinality = true,
                                        .keeps_fields = true};

}  // namespace

OperatorDef TakeDef() {
  return Define<Take, CountArgs>("take")
      .Doc("Gives the first rows of the pass and no others.")
      .Arg("count", &CountArgs::count, "How many.", AtLeast(0), AtMost(lanes::kRowsMax),
           Required())
      .Traits(kTraits)
      .Infer([](const CountArgs&, const core::Spec& in) { return in; })
      .Count(CountTaken)
      .CountOfRun([](const CountArgs& args, int64_t first, int64_t rows) {
        return TakenOf(args).Overlap(first, rows);
      });
}

OperatorDef SkipDef() {
  return Define<Skip, CountArgs>("skip")
      .Doc("Leaves out the first rows of the pass.")
      .Arg("count", &CountArgs::count, "How many.", AtLeast(0), AtMost(lanes::kRowsMax),
           Required())
      .Traits(kTraits)
      .NoOp([](const CountArgs& args, const core::Spec&) {
        return std::string(args.count == 0 ? "it leaves nothing out" : "");
      })
      .Infer([](const CountArgs&, const core::Spec& in) { return in; })
      .Count(CountRest)
      .CountOfRun([](const CountArgs& args, int64_t first, int64_t rows) {
        return RestOf(args).Overlap(first, rows);
      });
}

}  // namespace millrace::ops
