// Shard: every n-th row of the pass, for programs that divide the data by themselves.

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
};

// The first place from `first` on that belongs to the shard.
int64_t NextPlace(const ShardArgs& args, int64_t first) {
  const int64_t behind = (first - args.index) % args.shards;
  return behind == 0 ? first : first + (args.shards - behind) % args.shards;
}

int64_t CountOfRun(const ShardArgs& args, int64_t first, int64_t rows) {
  const int64_t next = NextPlace(args, first);
  const int64_t left = first + rows - next;
  return left <= 0 ? 0 : (left - 1) / args.shards + 1;
}

class Shard final : public Operator {
 public:
  Shard(const ShardArgs& args, const LaneContext& lane)
      : args_(args), lane_(lane), place_(lane.first_row) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    const int64_t first = std::exchange(place_, place_ + block.rows());
    std::vector<int64_t> rows;
    for (int64_t at = NextPlace(args_, first); at < place_; at += args_.shards) {
      rows.push_back(at - first);
    }
    if (rows.empty()) return absl::OkStatus();
    return out.Emit(TRY(core::Gather(block, rows, lane_.pool)));
  }

 private:
  const ShardArgs args_;
  const LaneContext lane_;
  int64_t place_;  // Of the next row.
};

absl::StatusOr<core::Spec> InferShard(const ShardArgs& args, const core::Spec& in) {
  if (args.index < args.shards) return in;
  return absl::InvalidArgumentError(base::StrCat(
      "argument index must be below shards, ", args.shards, ", not ", args.index));
}

}  // namespace

OperatorDef ShardDef() {
  return Define<Shard, ShardArgs>("shard")
      .Doc("Gives every n-th row of the pass.")
      .Arg("shards", &ShardArgs::shards, "How many shards there are.", AtLeast(1),
           AtMost(lanes::kRowsMax), Required())
      .Arg("index", &ShardArgs::index, "Which of them; the first is 0.", AtLeast(0),
           Required())
      .Traits({.order_sensitive = true,
               .positional = true,
               .changes_cardinality = true,
               .keeps_fields = true})
      .NoOp([](const ShardArgs& args, const core::Spec&) {
        return std::string(args.shards == 1 ? "there is one shard" : "");
      })
      .Infer(InferShard)
      .Count([](const ShardArgs& args, const ir::Cardinality& in) {
        if (!in.known()) return in;
        return ir::Cardinality::Known(CountOfRun(args, 0, in.rows()));
      })
      .CountOfRun(CountOfRun);
}

}  // namespace millrace::ops
