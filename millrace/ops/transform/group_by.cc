// GroupBy: rows of one key become one row, with the lists of their fields.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/evaluate.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/transform/grouping.h"
#include "millrace/ops/transform/held_rows.h"

namespace millrace::ops {
namespace {

struct GroupByArgs {
  ValueFunction key;
  std::optional<int64_t> size;
  bool drop_remainder = false;
  bool per_lane = false;
};

class GroupBy final : public Operator {
 public:
  GroupBy(GroupByArgs args, const LaneContext& lane)
      : args_(std::move(args)), lane_(lane), held_(lane.pool) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    const auto keys_of = [this](const core::Block& rows) {
      const kernels::DrawScope draws = {lane_.seed, lane_.epoch};
      return kernels::EvaluateValue(*args_.key, rows, draws, lane_.pool);
    };
    const auto add = [&](const core::Block& rows, const core::Column& keys) {
      return Add(rows, keys, out);
    };
    return UseGoodRows<core::Column>(block, keys_of, add, lane_.bad_rows);
  }

  // Groups that are not full come in the order in which they began.
  absl::StatusOr<Held> Finish(Emitter& out) override {
    if (!finishing_) SortOpen();
    finishing_ = true;
    if (args_.drop_remainder && args_.size) return Held::kNothing;
    if (finished_ == open_.size()) return Held::kNothing;
    const std::vector<core::RowRef>& rows = open_[finished_++].rows;
    TRY(EmitGroups(rows, std::ssize(rows), out));
    return finished_ < open_.size() ? Held::kMore : Held::kNothing;
  }

 private:
  struct Group {
    int64_t number = 0;  // In the order in which groups began.
    std::vector<core::RowRef> rows;
  };

  absl::Status Add(const core::Block& rows, const core::Column& keys, Emitter& out) {
    const int32_t source = held_.Keep(rows);
    std::vector<core::RowRef> full;
    for (int64_t row = 0; row < rows.rows(); ++row) {
      const std::string key = TRY(KeyAt(keys, row));
      Group& group = groups_[key];
      if (group.rows.empty()) group.number = began_++;
      group.rows.push_back({.source = source, .row = row});
      ++waiting_;
      if (std::ssize(group.rows) != args_.size) continue;
      full.insert(full.end(), group.rows.begin(), group.rows.end());
      waiting_ -= std::ssize(group.rows);
      groups_.erase(key);
    }
    if (!full.empty()) TRY(EmitGroups(full, *args_.size, out));
    return held_.Compact(waiting_, [this](HeldRows::Visit visit) {
      for (auto& [key, group] : groups_) {
        for (core::RowRef& row : group.rows) visit(row);
      }
    });
  }

  // The bytes of a key. Its type is the same for all.
  static absl::StatusOr<std::string> KeyAt(const core::Column& keys, int64_t row) {
    const core::Tensor key = TRY(keys.Row(row));
    if (core::IsVariable(key.dtype())) return std::string(key.TextAt(0));
    return std::string(key.values().text());
  }

  absl::Status EmitGroups(const std::vector<core::RowRef>& rows, int64_t size,
                          Emitter& out) {
    const core::Block gathered = TRY(held_.Gather(rows));
    return out.Emit(TRY(Stackable(gathered, lane_.pool)).Stack(size));
  }

  void SortOpen() {
    for (auto& [key, group] : groups_) open_.push_back(std::move(group));
    std::ranges::sort(open_, {}, &Group::number);
  }

  const GroupByArgs args_;
  const LaneContext lane_;
  HeldRows held_;
  absl::flat_hash_map<std::string, Group> groups_;  // None is full.
  int64_t waiting_ = 0;                             // Rows in them.
  int64_t began_ = 0;
  bool finishing_ = false;
  std::vector<Group> open_;  // In order, once finishing.
  size_t finished_ = 0;
};

absl::StatusOr<core::Spec> InferGroups(const GroupByArgs& args, const core::Spec& in) {
  const ir::ValueType& type = args.key->type_of(args.key->results()[0]);
  if (!type.shape.is_scalar() || core::IsFloat(type.dtype)) {
    return absl::InvalidArgumentError(
        base::StrCat("argument key must give one integer, bool or text per row, not ",
                     ir::ToString(type)));
  }
  const bool full = args.size && args.drop_remainder;
  return in.Stacked(full ? *args.size : core::kUnknownSize);
}

}  // namespace

OperatorDef GroupByDef() {
  return Define<GroupBy, GroupByArgs>("group_by")
      .Doc(
          "Makes one row of several rows with the same key: every field is the list of "
          "theirs. A group is given when it is full; those that are not, at the end, "
          "in the order in which they began.")
      .Arg("key", &GroupByArgs::key, "From the row to an integer, bool or text.")
      .Arg("size", &GroupByArgs::size,
           "Rows in a full group; by default a group takes all rows of its key, and "
           "comes at the end.",
           AtLeast(1), AtMost(int64_t{1} << 40))
      .Arg("drop_remainder", &GroupByArgs::drop_remainder,
           "Leave out groups at the end that are not full.")
      .Arg("per_lane", &GroupByArgs::per_lane,
           "Group the rows of every lane for themselves, so that there can be many.")
      .Traits(
          {.order_sensitive = true, .changes_cardinality = true, .keeps_fields = true})
      .AcrossLanes([](const GroupByArgs& args) { return !args.per_lane; })
      .Random([](const GroupByArgs& args) { return args.key->IsRandom(); })
      .CanFail([](const GroupByArgs& args) { return args.key->CanFail(); })
      .Infer(InferGroups)
      .Count([](const GroupByArgs&, const ir::Cardinality& in) {
        if (in.known() && in.rows() == 0) return in;
        return in.infinite() ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
