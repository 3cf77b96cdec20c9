// Mix: rows of several inputs in random turn, by weight. Each input's rows stay in
// their order; which input comes next is drawn anew for every row, so that the weights
// hold in every stretch.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/transform/one_spec.h"

namespace millrace::ops {
namespace {

struct MixArgs {
  std::vector<double> weights;
  std::string stop = "all";
  std::optional<int64_t> seed;
};

class Mix final : public Merger {
 public:
  Mix(const MixArgs& args, const MergeContext& context)
      : stops_at_first_(args.stop == "first"),
        pool_(context.pool),
        generator_(base::RandomKey(
                       args.seed ? static_cast<uint64_t>(*args.seed) : context.seed,
                       context.epoch, static_cast<uint64_t>(context.call_number)),
                   base::Hash128{}),
        weights_(args.weights),
        waiting_(context.inputs),
        taken_(context.inputs) {
    if (weights_.empty()) weights_.assign(context.inputs, 1.0);
    Draw();
  }

  int Wants() const override { return next_; }

  absl::Status Push(core::Block rows, Emitter& out) override {
    for (core::Block& block : waiting_) {  // Those that had no turn yet have no fields.
      if (block.rows() == 0) block = rows.Slice(0, 0);
    }
    waiting_[next_] = std::move(rows);
    taken_[next_] = 0;
    return EmitWaiting(out);
  }

  // The others go on among themselves.
  absl::Status End(Emitter& out) override {
    weights_[next_] = 0;
    const bool all_ended = std::ranges::count(weights_, 0.0) == std::ssize(weights_);
    next_ = kNone;
    if (all_ended || stops_at_first_) return absl::OkStatus();
    Draw();
    return EmitWaiting(out);
  }

 private:
  // Gives rows until it is the turn of an input that has none waiting.
  absl::Status EmitWaiting(Emitter& out) {
    std::vector<core::RowRef> chosen;
    while (taken_[next_] < waiting_[next_].rows()) {
      chosen.push_back({.source = next_, .row = taken_[next_]++});
      Draw();
    }
    if (chosen.empty()) return absl::OkStatus();
    return out.Emit(TRY(core::Gather(waiting_, chosen, pool_)));
  }

  // Chooses where the next row comes from.
  void Draw() {
    double sum = 0;
    for (const double weight : weights_) sum += weight;
    double left = generator_.Uniform() * sum;
    for (size_t input = 0; input < weights_.size(); ++input) {
      if (weights_[input] == 0) continue;
      next_ = static_cast<int>(input);  // The last one, where rounding leaves a rest.
      left -= weights_[input];
      if (left < 0) return;
    }
  }

  const bool stops_at_first_;
  core::Pool& pool_;
  base::Generator generator_;
  std::vector<double> weights_;  // 0 of an input that has ended.
  std::vector<core::Block> waiting_;
  std::vector<int64_t> taken_;  // Rows of those that have left.
  int next_ = kNone;
};

absl::StatusOr<core::Spec> MixedSpec(const MixArgs& args,
                                     absl::Span<const core::Spec> inputs) {
  if (!args.weights.empty() && args.weights.size() != inputs.size()) {
    return absl::InvalidArgumentError(base::StrCat("there are ", args.weights.size(),
                                                   " weights for ", inputs.size(),
                                                   " inputs; give one for each"));
  }
  for (const double weight : args.weights) {
    if (weight > 0 && weight < 1e18) continue;
    return absl::InvalidArgumentError(
        base::StrCat("weights must be above 0, one is ", weight,
                     "; leave out an input that is not wanted"));
  }
  return OneSpec(inputs);
}

ir::Cardinality CountMixed(const MixArgs& args,
                           absl::Span<const ir::Cardinality> inputs) {
  if (args.stop == "first") return ir::Cardinality::Unknown();
  return CountOfAll(inputs);
}

}  // namespace

OperatorDef MixDef() {
  return Define<Mix, MixArgs>("mix")
      .Doc(
          "Gives the rows of its inputs in random turn, by weight; the rows of each "
          "stay "
          "in their order.")
      .Arg("weights", &MixArgs::weights,
           "How often each input's turn comes, relative to the others; by default "
           "equally often.")
      .Arg("stop", &MixArgs::stop,
           "When to end: with the first input that ends, or with all of them, the "
           "others going on.",
           [](ir::ArgumentSchema& schema) { schema.choices = {"all", "first"}; })
      .Arg("seed", &MixArgs::seed, "By default the job's.", AtLeast(0), Seed())
      .Traits({.order_sensitive = true, .changes_cardinality = true, .merges = true})
      .Random([](const MixArgs&) { return true; })
      .InferAll(2, MixedSpec)
      .CountAll(CountMixed);
}

}  // namespace millrace::ops
