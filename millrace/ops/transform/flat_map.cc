// FlatMap: makes several rows of each, or none: a function gives lists, and every item
// becomes a row. The identity of item j of a row is made of the row's and j.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/spec.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/kernels/evaluate.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/origins.h"

namespace millrace::ops {
namespace {

struct FlatMapArgs {
  RowFunction function;
  std::optional<int64_t> seed;
};

bool IsList(const core::FieldSpec& field) { return !field.shape.is_scalar(); }

class FlatMap final : public Operator {
 public:
  FlatMap(FlatMapArgs args, const LaneContext& lane)
      : args_(std::move(args)), lane_(lane), lists_(ResultSpec(*args_.function)) {
    core::FieldNames names;
    for (const core::FieldSpec& field : lists_.fields()) names.push_back(field.name);
    names_ = std::make_shared<const core::FieldNames>(std::move(names));
  }

  absl::Status Push(core::Block block, Emitter& out) override {
    const auto make = [this](const core::Block& rows) { return ItemsOf(rows); };
    return EmitGoodRows(block, make, lane_.bad_rows, out);
  }

 private:
  absl::StatusOr<core::Block> ItemsOf(const core::Block& rows) const {
    const kernels::DrawScope draws = {SeedOf(args_.seed, lane_), lane_.epoch};
    const std::vector<core::Column> lists =
        TRY(kernels::Evaluate(*args_.function, rows, draws, lane_.pool));
    const std::vector<int64_t> of_row = TRY(RowsOfItems(lists, rows.rows()));
    std::vector<core::Column> columns;
    for (size_t i = 0; i < lists.size(); ++i) {
      columns.push_back(IsList(lists_.fields()[i])
                            ? lists[i].Unstack()
                            : TRY(core::Gather(lists[i], of_row, lane_.pool)));
    }
    const core::Block items(std::ssize(of_row), names_, std::move(columns));
    return rows.has_ids() ? WithIdsOf(items, rows, of_row) : items;
  }

  // For each item, the row that it comes from.
  absl::StatusOr<std::vector<int64_t>> RowsOfItems(
      const std::vector<core::Column>& lists, int64_t rows) const {
    std::vector<int64_t> of_row;
    for (int64_t row = 0; row < rows; ++row) {
      of_row.insert(of_row.end(), TRY(SizeOf(lists, row)), row);
    }
    return of_row;
  }

  // How many items the lists of a row have.
  absl::StatusOr<int64_t> SizeOf(const std::vector<core::Column>& lists,
                                 int64_t row) const {
    std::optional<size_t> first;
    for (size_t i = 0; i < lists.size(); ++i) {
      const core::FieldSpec& field = lists_.fields()[i];
      if (!IsList(field)) continue;
      if (!lists[i].Slice(row, 1).HasLeadingAxis()) {
        return absl::DataLossError(
            base::StrCat("the field ", field.name, " is no list"));
      }
      if (!first) first = i;
      const int64_t size = lists[i].LeadingSize(row);
      const int64_t wanted = lists[*first].LeadingSize(row);
      if (size == wanted) continue;
      return absl::DataLossError(base::StrCat(
          "the fields ", lists_.fields()[*first].name, " and ", field.name, " have ",
          wanted, " and ", size, " items; all lists of a row must be of one length"));
    }
    return lists[*first].LeadingSize(row);
  }

  absl::StatusOr<core::Block> WithIdsOf(const core::Block& items,
                                        const core::Block& rows,
                                        const std::vector<int64_t>& of_row) const {
    std::vector<core::RowId> ids;
    ids.reserve(of_row.size());
    MadeRows made;
    uint64_t number = 0;
    for (size_t item = 0; item < of_row.size(); ++item) {
      number = item > 0 && of_row[item] == of_row[item - 1] ? number + 1 : 0;
      ids.push_back(base::Combine(rows.IdAt(of_row[item]), number));
      if (lane_.origins != nullptr) made.Add(ids.back(), rows.IdsIn(of_row[item]));
    }
    if (lane_.origins != nullptr) lane_.origins->Note(std::move(made));
    return items.WithIds(TRY(core::IdColumn(ids, lane_.pool)));
  }

  const FlatMapArgs args_;
  const LaneContext lane_;
  const core::Spec lists_;  // What the function gives.
  std::shared_ptr<const core::FieldNames> names_;
};

absl::StatusOr<core::Spec> InferFlatMap(const FlatMapArgs& args, const core::Spec&) {
  const core::Spec lists = ResultSpec(*args.function);
  std::vector<core::FieldSpec> fields = lists.fields();
  bool any = false;
  for (core::FieldSpec& field : fields) {
    any = any || IsList(field);
    if (IsList(field)) field.shape = field.shape.WithoutLeading();
  }
  if (any) return core::Spec(std::move(fields));
  return absl::InvalidArgumentError(base::StrCat(
      "argument function gives no list, but ", lists.ToString(),
      "; each item of a list becomes a row. Use map to make one row of each"));
}

}  // namespace

OperatorDef FlatMapDef() {
  return Define<FlatMap, FlatMapArgs>("flat_map")
      .Doc(
          "Makes several rows of each: a function gives lists of one length, and every "
          "item becomes a row. Fields without an axis go into each of these rows.")
      .Arg("function", &FlatMapArgs::function, "From the row to a row of lists.")
      .Arg("seed", &FlatMapArgs::seed, "For random numbers; by default the job's.",
           AtLeast(0), Seed())
      .Traits({.row_wise = true, .changes_cardinality = true})
      .Random([](const FlatMapArgs& args) { return args.function->IsRandom(); })
      .CanFail([](const FlatMapArgs&) { return true; })
      .Infer(InferFlatMap)
      .Count([](const FlatMapArgs&, const ir::Cardinality& in) {
        if (in.known() && in.rows() == 0) return in;
        return in.infinite() ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
