// Bucket: batches of rows of about the same length. Rows wait in the bucket of their
// length; one that is full becomes a batch, padded to its longest row.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/evaluate.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/transform/grouping.h"
#include "millrace/ops/transform/held_rows.h"
#include "millrace/ops/transform/padding.h"

namespace millrace::ops {
namespace {

struct BucketArgs {
  ValueFunction length;
  std::vector<int64_t> up_to;
  std::vector<int64_t> sizes;
  int64_t group = 1;
  bool drop_remainder = false;
  double pad_value = 0;
  bool pad_to_bucket = false;
  bool ragged = false;
  bool per_lane = false;

  size_t buckets() const { return up_to.size() + 1; }

  int64_t SizeOf(size_t bucket) const { return sizes[sizes.size() > 1 ? bucket : 0]; }
};

class Bucket final : public Operator {
 public:
  Bucket(BucketArgs args, const LaneContext& lane)
      : args_(std::move(args)),
        lane_(lane),
        held_(lane.pool),
        waiting_(args_.buckets()) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    const auto lengths_of = [this](const core::Block& rows) {
      return kernels::EvaluateValue(*args_.length, rows, draws(), lane_.pool);
    };
    const auto add = [&](const core::Block& rows, const core::Column& lengths) {
      return Add(rows, lengths.As<int64_t>(), out);
    };
    return UseGoodRows<core::Column>(block, lengths_of, add, lane_.bad_rows);
  }

  // What is left comes bucket by bucket, the shortest rows first.
  absl::StatusOr<Held> Finish(Emitter& out) override {
    while (finishing_ < waiting_.size() && waiting_[finishing_].empty()) ++finishing_;
    if (finishing_ == waiting_.size()) return Held::kNothing;
    const std::vector<core::RowRef> rows = std::exchange(waiting_[finishing_], {});
    TRY(out.EmitTail(static_cast<int64_t>(finishing_), TRY(held_.Gather(rows))));
    return Held::kMore;
  }

  // They are all of one bucket.
  absl::Status FinishPass(const core::Block& tail, Emitter& out) override {
    const core::Column length = TRY(
        kernels::EvaluateValue(*args_.length, tail.Slice(0, 1), draws(), lane_.pool));
    const size_t bucket = BucketOf(length.As<int64_t>()[0]);
    const int64_t size = args_.SizeOf(bucket);
    for (int64_t row = 0; row < tail.rows(); row += size) {
      const int64_t rows = std::min(size, tail.rows() - row);
      if (rows < size && args_.drop_remainder) break;
      TRY(EmitBatch(bucket, tail.Slice(row, rows), out));
    }
    return absl::OkStatus();
  }

 private:
  kernels::DrawScope draws() const { return {lane_.seed, lane_.epoch}; }

  size_t BucketOf(int64_t length) const {
    return std::ranges::lower_bound(args_.up_to, length) - args_.up_to.begin();
  }

  absl::Status Add(const core::Block& rows, absl::Span<const int64_t> lengths,
                   Emitter& out) {
    const int32_t source = held_.Keep(rows);
    for (int64_t row = 0; row < rows.rows(); ++row) {
      const size_t bucket = BucketOf(lengths[row]);
      waiting_[bucket].push_back({.source = source, .row = row});
      const int64_t run = args_.SizeOf(bucket) * args_.group;
      if (std::ssize(waiting_[bucket]) == run) TRY(EmitRun(bucket, out));
    }
    int64_t waiting = 0;
    for (const std::vector<core::RowRef>& bucket : waiting_) {
      waiting += std::ssize(bucket);
    }
    return held_.Compact(waiting, [this](HeldRows::Visit visit) {
      for (std::vector<core::RowRef>& bucket : waiting_) {
        for (core::RowRef& row : bucket) visit(row);
      }
    });
  }

  // Gives a whole run of batches of one bucket.
  absl::Status EmitRun(size_t bucket, Emitter& out) {
    const std::vector<core::RowRef> rows = std::exchange(waiting_[bucket], {});
    const absl::Span<const core::RowRef> all(rows);
    const int64_t size = args_.SizeOf(bucket);
    for (int64_t batch = 0; batch < args_.group; ++batch) {
      TRY(EmitBatch(bucket, TRY(held_.Gather(all.subspan(batch * size, size))), out));
    }
    return absl::OkStatus();
  }

  absl::Status EmitBatch(size_t bucket, const core::Block& rows, Emitter& out) {
    const core::Block uniform =
        args_.ragged ? TRY(Stackable(rows, lane_.pool))
                     : TRY(Padded(rows, RuleOf(bucket), *lane_.input, lane_.pool));
    const core::Block aligned = TRY(uniform.Aligned(lane_.pool));
    return out.EmitOf(static_cast<int64_t>(bucket), aligned.Stack(aligned.rows()));
  }

  // There is no length to pad the last bucket to.
  PadRule RuleOf(size_t bucket) const {
    const bool to_bucket = args_.pad_to_bucket && bucket < args_.up_to.size();
    return {.value = args_.pad_value,
            .to_multiple_of = std::nullopt,
            .leading_at_least =
                to_bucket ? std::optional(args_.up_to[bucket]) : std::nullopt};
  }

  const BucketArgs args_;
  const LaneContext lane_;
  HeldRows held_;
  std::vector<std::vector<core::RowRef>> waiting_;  // By bucket.
  size_t finishing_ = 0;
};

absl::Status CheckBuckets(const BucketArgs& args) {
  if (args.up_to.empty()) {
    return absl::InvalidArgumentError(
        "argument up_to names no bucket; give the longest length of each, as in "
        "[64, 128, 256]");
  }
  if (std::ranges::adjacent_find(args.up_to, std::greater_equal()) !=
      args.up_to.end()) {
    return absl::InvalidArgumentError("argument up_to must rise from bucket to bucket");
  }
  if (args.sizes.size() == 1 || args.sizes.size() == args.buckets()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(base::StrCat(
      "argument sizes has ", args.sizes.size(), " sizes for ", args.buckets(),
      " buckets, the last being that of longer rows; give one for each, or one for "
      "all"));
}

absl::StatusOr<core::Spec> InferBuckets(const BucketArgs& args, const core::Spec& in) {
  TRY(CheckBuckets(args));
  const ir::ValueType& type = args.length->type_of(args.length->results()[0]);
  if (type.dtype != core::DType::kInt64 || !type.shape.is_scalar()) {
    return absl::InvalidArgumentError(
        base::StrCat("argument length must give one int64 per row, not ",
                     ir::ToString(type), "; use cast"));
  }
  if (!args.ragged) TRY(CheckPadValue(args.pad_value, in));
  const bool same = args.sizes.size() == 1 && args.drop_remainder;
  return in.Stacked(same ? args.sizes[0] : core::kUnknownSize);
}

// Without a group batches are read each by itself, and lanes have nothing to join.
std::optional<ir::KeyedRuns> RunsOf(const BucketArgs& args) {
  if (args.per_lane || args.group == 1 || args.sizes.empty()) return std::nullopt;
  ir::KeyedRuns runs{.group = args.group};
  for (size_t bucket = 0; bucket < args.buckets(); ++bucket) {
    runs.sizes.push_back(args.SizeOf(bucket));
  }
  return runs;
}

int64_t RowsHeld(const BucketArgs& args) {
  int64_t rows = 0;
  if (args.sizes.empty()) return rows;
  for (size_t bucket = 0; bucket < args.buckets(); ++bucket) {
    rows += args.SizeOf(bucket) * args.group;
  }
  return rows;
}

}  // namespace

OperatorDef BucketDef() {
  constexpr int64_t kMost = int64_t{1} << 30;
  return Define<Bucket, BucketArgs>("bucket")
      .Doc(
          "Makes batches of rows of about the same length, so that little is padded. "
          "Rows wait in the bucket of their length until it is full.")
      .Arg("length", &BucketArgs::length, "From the row to its length, an int64.")
      .Arg("up_to", &BucketArgs::up_to,
           "The longest length of each bucket, rising; longer rows have one more "
           "bucket for themselves.",
           AtLeast(0), AtMost(int64_t{1} << 40), Required())
      .Arg("sizes", &BucketArgs::sizes,
           "Rows per batch: one number for all buckets, or one for each.", AtLeast(1),
           AtMost(kMost), Required())
      .Arg("group", &BucketArgs::group,
           "Batches of one bucket that come one after the other, so that as many "
           "consumers get batches of like length in each round.",
           AtLeast(1), AtMost(1 << 20))
      .Arg("drop_remainder", &BucketArgs::drop_remainder,
           "Leave out batches at the end that are not full.")
      .Arg("pad_value", &BucketArgs::pad_value,
           "What to fill up with; every padded field must be able to hold it.")
      .Arg("pad_to_bucket", &BucketArgs::pad_to_bucket,
           "Pad the first axis to the longest length of the bucket, not of the batch, "
           "so that there are few shapes.")
      .Arg("ragged", &BucketArgs::ragged, "Do not pad: rows keep their lengths.")
      .Arg("per_lane", &BucketArgs::per_lane,
           "Begin anew with every lane, so that there can be many; each ends with "
           "batches that are not full.")
      .Traits(
          {.order_sensitive = true, .changes_cardinality = true, .keeps_fields = true})
      .AcrossLanes([](const BucketArgs& args) { return !args.per_lane; })
      .KeyedRuns(RunsOf)
      .Holds(RowsHeld)
      .Random([](const BucketArgs& args) { return args.length->IsRandom(); })
      .CanFail([](const BucketArgs& args) { return args.length->CanFail(); })
      .Infer(InferBuckets)
      .Count([](const BucketArgs&, const ir::Cardinality& in) {
        if (in.known() && in.rows() == 0) return in;
        return in.infinite() ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
