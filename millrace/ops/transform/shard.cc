// Shard: every n-th row of the pass, or run of rows: for programs that divide the data
// by themselves, and for the ranks of a training.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

struct ShardArgs {
  int64_t shards = 1;
  int64_t index = 0;
  int64_t run = 1;
  bool whole_rounds = false;

  // Rows of all shards' turns.
  int64_t round() const { return run * shards; }
};

// How many of the first so many places belong to the shard.
int64_t CountBefore(const ShardArgs& args, int64_t end) {
  const int64_t in_round = end % args.round() - args.index * args.run;
  return end / args.round() * args.run + std::clamp<int64_t>(in_round, 0, args.run);
}

int64_t CountOfRun(const ShardArgs& args, int64_t first, int64_t rows) {
  return CountBefore(args, first + rows) - CountBefore(args, first);
}

int64_t CountOfAll(const ShardArgs& args, int64_t rows) {
  const int64_t counted = args.whole_rounds ? rows - rows % args.round() : rows;
  return CountBefore(args, counted);
}

bool Belongs(const ShardArgs& args, int64_t place) {
  return place / args.run % args.shards == args.index;
}

class Shard final : public Operator {
 public:
  Shard(const ShardArgs& args, const LaneContext& lane)
      : args_(args), lane_(lane), place_(lane.first_row) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    const int64_t first = std::exchange(place_, place_ + block.rows());
    // Rows of a round that is not over are held back where rounds must be whole.
    const int64_t given = args_.whole_rounds ? place_ - place_ % args_.round() : place_;
    if (given > first) {
      for (core::Block& held : std::exchange(held_, {})) {
        TRY(out.Emit(std::move(held)));
      }
    }
    const core::Block now = TRY(OwnRows(block, first, first, given));
    if (now.rows() > 0) TRY(out.Emit(now));
    core::Block later = TRY(OwnRows(block, first, std::max(first, given), place_));
    if (later.rows() > 0) held_.push_back(std::move(later));
    return absl::OkStatus();
  }

 private:
  // The shard's rows from a place up to another, of a block that begins at `first`.
  absl::StatusOr<core::Block> OwnRows(const core::Block& block, int64_t first,
                                      int64_t begin, int64_t end) const {
    std::vector<int64_t> rows;
    for (int64_t place = begin; place < end; ++place) {
      if (Belongs(args_, place)) rows.push_back(place - first);
    }
    if (rows.empty()) return block.Slice(0, 0);
    return core::Gather(block, rows, lane_.pool);
  }

  const ShardArgs args_;
  const LaneContext lane_;
  int64_t place_;  // Of the next row.
  std::vector<core::Block> held_;
};

absl::StatusOr<core::Spec> InferShard(const ShardArgs& args, const core::Spec& in) {
  if (args.run > lanes::kRowsMax / args.shards) {
    return absl::InvalidArgumentError(
        base::StrCat("arguments shards and run make rounds of more than ",
                     lanes::kRowsMax, " rows"));
  }
  if (args.index < args.shards) return in;
  return absl::InvalidArgumentError(base::StrCat(
      "argument index must be below shards, ", args.shards, ", not ", args.index));
}

}  // namespace

OperatorDef ShardDef() {
  return Define<Shard, ShardArgs>("shard")
      .Doc("Gives every n-th row of the pass, or run of rows.")
      .Arg("shards", &ShardArgs::shards, "How many shards there are.", AtLeast(1),
           AtMost(lanes::kRowsMax), Required())
      .Arg("index", &ShardArgs::index, "Which of them; the first is 0.", AtLeast(0),
           Required())
      .Arg("run", &ShardArgs::run, "Rows that go to one shard before the next's turn.",
           AtLeast(1), AtMost(lanes::kRowsMax))
      .Arg("whole_rounds", &ShardArgs::whole_rounds,
           "Leave out the last rows where they are not enough for all shards; the pass "
           "is then one lane.")
      .Traits({.order_sensitive = true,
               .positional = true,
               .changes_cardinality = true,
               .keeps_fields = true})
      .NoOp([](const ShardArgs& args, const core::Spec&) {
        return std::string(args.shards == 1 && !args.whole_rounds ? "there is one shard"
                                                                  : "");
      })
      .Infer(InferShard)
      .Count([](const ShardArgs& args, const ir::Cardinality& in) {
        if (!in.known()) return in;
        return ir::Cardinality::Known(CountOfAll(args, in.rows()));
      })
      .AcrossLanes([](const ShardArgs& args) { return args.whole_rounds; })
      .CountOfRun(CountOfRun);
}

}  // namespace millrace::ops
