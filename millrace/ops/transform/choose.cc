// Choose: rows of several inputs in an order that another input gives, row for row.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
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

struct ChooseArgs {
  std::string stop = "first";
};

// Input 0 gives the choices: 0 is input 1, and so on.
class Choose final : public Merger {
 public:
  Choose(const ChooseArgs& args, const MergeContext& context)
      : stops_at_first_(args.stop == "first"),
        pool_(context.pool),
        waiting_(context.inputs),
        taken_(context.inputs),
        ended_(context.inputs) {}

  int Wants() const override { return next_; }

  absl::Status Push(core::Block rows, Emitter& out) override {
    if (next_ > 0) {
      for (size_t i = 1; i < waiting_.size(); ++i) {  // Unread ones have no fields yet.
        if (waiting_[i].rows() == 0) waiting_[i] = rows.Slice(0, 0);
      }
    }
    waiting_[next_] = std::move(rows);
    taken_[next_] = 0;
    return GoOn(out);
  }

  absl::Status End(Emitter& out) override {
    ended_[next_] = true;
    const bool all_ended = std::ranges::count(ended_, true) == std::ssize(ended_) - 1;
    if (next_ == 0 || stops_at_first_ || all_ended) {
      next_ = kNone;
      return absl::OkStatus();
    }
    return GoOn(out);
  }

 private:
  // Gives rows until an input is wanted that has none waiting.
  absl::Status GoOn(Emitter& out) {
    std::vector<core::RowRef> chosen;
    const absl::Status status = Follow(chosen);
    if (!chosen.empty()) {
      const absl::Span<const core::Block> rows = absl::MakeConstSpan(waiting_);
      TRY(out.Emit(TRY(core::Gather(rows.subspan(1), chosen, pool_))));
    }
    return status;
  }

  absl::Status Follow(std::vector<core::RowRef>& chosen) {
    while (true) {
      next_ = 0;
      if (taken_[0] == waiting_[0].rows()) return absl::OkStatus();
      const int64_t choice = waiting_[0].columns()[0].As<int64_t>()[taken_[0]];
      if (choice < 0 || choice + 1 >= std::ssize(waiting_)) {
        return absl::InvalidArgumentError(base::StrCat("a choice is ", choice,
                                                       "; there are the inputs 0 to ",
                                                       waiting_.size() - 2));
      }
      const auto input = static_cast<int>(choice) + 1;
      const bool has_row = taken_[input] < waiting_[input].rows();
      if (!has_row && !ended_[input]) {
        next_ = input;
        return absl::OkStatus();
      }
      ++taken_[0];  // That of an input that has ended is passed over.
      if (has_row) chosen.push_back({.source = input - 1, .row = taken_[input]++});
    }
  }

  const bool stops_at_first_;
  core::Pool& pool_;
  std::vector<core::Block> waiting_;
  std::vector<int64_t> taken_;  // Rows of those that have left.
  std::vector<bool> ended_;
  int next_ = 0;
};

absl::StatusOr<core::Spec> ChosenSpec(const ChooseArgs&,
                                      absl::Span<const core::Spec> inputs) {
  const std::vector<core::FieldSpec>& choice = inputs[0].fields();
  const bool fits = choice.size() == 1 && choice[0].dtype == core::DType::kInt64 &&
                    choice[0].shape.is_scalar();
  if (fits) return OneSpec(inputs.subspan(1));
  return absl::InvalidArgumentError(base::StrCat(
      "the first input must give the choices, one int64 per row and nothing else, not ",
      inputs[0].ToString(), "; use map or select"));
}

}  // namespace

OperatorDef ChooseDef() {
  return Define<Choose, ChooseArgs>("choose")
      .Doc(
          "Gives rows of its inputs in the order that the first input tells: each of "
          "its rows is a number, 0 for the next row of the second input, 1 for that of "
          "the third, and so on.")
      .Arg("stop", &ChooseArgs::stop,
           "When to end: with the first choice of an input that has ended, or with "
           "all, such choices being passed over.",
           [](ir::ArgumentSchema& schema) { schema.choices = {"first", "all"}; })
      .Traits({.order_sensitive = true, .changes_cardinality = true, .merges = true})
      .InferAll(2, ChosenSpec)
      .CountAll([](const ChooseArgs&, absl::Span<const ir::Cardinality> inputs) {
        const ir::Cardinality& choices = inputs[0];
        return choices.known() && choices.rows() == 0 ? choices
                                                      : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
