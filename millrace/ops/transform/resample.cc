// Resample: leaves out rows at random, so that classes come as often as is wanted. How
// often they come by themselves is given, or counted on the way.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/evaluate.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/window_shuffle.h"

namespace millrace::ops {
namespace {

struct ResampleArgs {
  ValueFunction label;
  std::vector<double> target;
  std::vector<double> initial;
  std::optional<int64_t> seed;
};

class Resample final : public Operator {
 public:
  Resample(ResampleArgs args, const LaneContext& lane)
      : args_(std::move(args)),
        lane_(lane),
        generator_(ShuffleGenerator(SeedOf(args_.seed, lane), lane)),
        // Counted from one on: a class that never came is rare, not impossible.
        often_(args_.initial.empty() ? std::vector<double>(args_.target.size(), 1)
                                     : args_.initial) {
    FindLargest();
  }

  absl::Status Push(core::Block block, Emitter& out) override {
    const auto labels_of = [this](const core::Block& rows) { return LabelsOf(rows); };
    const auto emit = [&](const core::Block& rows, const core::Column& labels) {
      return EmitKept(rows, labels.As<int64_t>(), out);
    };
    return UseGoodRows<core::Column>(block, labels_of, emit, lane_.bad_rows);
  }

 private:
  absl::StatusOr<core::Column> LabelsOf(const core::Block& rows) const {
    const kernels::DrawScope draws = {lane_.seed, lane_.epoch};
    core::Column labels =
        TRY(kernels::EvaluateValue(*args_.label, rows, draws, lane_.pool));
    for (const int64_t label : labels.As<int64_t>()) {
      if (label >= 0 && label < std::ssize(args_.target)) continue;
      return absl::DataLossError(base::StrCat("class ", label, " is none of the ",
                                              args_.target.size(),
                                              " that argument target names"));
    }
    return labels;
  }

  absl::Status EmitKept(const core::Block& rows, absl::Span<const int64_t> labels,
                        Emitter& out) {
    std::vector<int64_t> kept;
    for (int64_t row = 0; row < rows.rows(); ++row) {
      const auto label = static_cast<size_t>(labels[row]);
      if (args_.initial.empty()) {
        ++often_[label];
        FindLargest();
      }
      if (generator_.Uniform() * largest_ < RatioOf(label)) kept.push_back(row);
    }
    if (kept.empty()) return absl::OkStatus();
    return out.Emit(TRY(core::Gather(rows, kept, lane_.pool)));
  }

  // How much more often a class is wanted than it comes, by some measure.
  double RatioOf(size_t label) const { return args_.target[label] / often_[label]; }

  void FindLargest() {
    largest_ = 0;
    for (size_t label = 0; label < args_.target.size(); ++label) {
      largest_ = std::max(largest_, RatioOf(label));
    }
  }

  const ResampleArgs args_;
  const LaneContext lane_;
  base::Generator generator_;
  std::vector<double> often_;  // How often classes come.
  double largest_ = 0;         // Of all ratios: that class is kept whole.
};

absl::Status CheckShares(const std::vector<double>& shares, double least,
                         std::string_view name) {
  double sum = 0;
  for (const double share : shares) {
    if (!(share >= least && share < 1e18)) {
      return absl::InvalidArgumentError(
          base::StrCat("argument ", name, " must hold numbers ",
                       least > 0 ? "above 0" : "from 0 on", ", one is ", share));
    }
    sum += share;
  }
  if (sum > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("argument ", name, " must name at least one class"));
}

absl::StatusOr<core::Spec> InferResample(const ResampleArgs& args,
                                         const core::Spec& in) {
  const ir::ValueType& type = args.label->type_of(args.label->results()[0]);
  if (type.dtype != core::DType::kInt64 || !type.shape.is_scalar()) {
    return absl::InvalidArgumentError(
        base::StrCat("argument label must give one int64 per row, not ",
                     ir::ToString(type), "; use cast"));
  }
  TRY(CheckShares(args.target, 0, "target"));
  if (args.initial.empty()) return in;
  TRY(CheckShares(args.initial, 1e-18, "initial"));
  if (args.initial.size() == args.target.size()) return in;
  return absl::InvalidArgumentError(
      base::StrCat("argument initial has ", args.initial.size(), " classes, target ",
                   args.target.size(), "; give one share for each class"));
}

}  // namespace

OperatorDef ResampleDef() {
  return Define<Resample, ResampleArgs>("resample")
      .Doc(
          "Leaves out rows at random, so that classes come as often as is wanted. The "
          "class that is rarest beside what is wanted is kept whole.")
      .Arg("label", &ResampleArgs::label,
           "From the row to its class: 0, 1, ... as an int64.")
      .Arg("target", &ResampleArgs::target,
           "How often each class is wanted, relative to the others.", Required())
      .Arg("initial", &ResampleArgs::initial,
           "How often each comes by itself, relative to the others; by default it is "
           "counted on the way, and the first rows are kept by guess.")
      .Arg("seed", &ResampleArgs::seed, "By default the job's.", AtLeast(0), Seed())
      .Traits({.order_sensitive = true,
               .changes_cardinality = true,
               .draws = true,
               .keeps_fields = true})
      .AcrossLanes([](const ResampleArgs& args) { return args.initial.empty(); })
      .Random([](const ResampleArgs&) { return true; })
      .CanFail([](const ResampleArgs&) { return true; })
      .Infer(InferResample)
      .Count([](const ResampleArgs&, const ir::Cardinality& in) {
        if (in.known() && in.rows() == 0) return in;
        return in.infinite() ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
