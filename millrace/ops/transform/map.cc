// Map: replaces every row by what a function makes of it.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/spec.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/kernels/evaluate.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

struct MapArgs {
  RowFunction function;
  std::optional<int64_t> seed;
};

std::shared_ptr<const core::FieldNames> ResultNames(const ir::Expression& function) {
  core::FieldNames names;
  for (const ir::Result& result : function.results()) names.push_back(result.name);
  return std::make_shared<const core::FieldNames>(std::move(names));
}

class Map final : public Operator {
 public:
  Map(const MapArgs& args, const LaneContext& lane)
      : args_(args), lane_(lane), names_(ResultNames(*args.function)) {}

  void WriteInto(std::vector<core::Buffer> places) override {
    places_ = std::move(places);
  }

  absl::Status Push(core::Block block, Emitter& out) override {
    const auto make = [this](const core::Block& rows) { return MapRows(rows); };
    return EmitGoodRows(block, make, lane_.bad_rows, out);
  }

 private:
  // The places are for the block as it comes; parts of it, where it fails, go
  // elsewhere.
  absl::StatusOr<core::Block> MapRows(const core::Block& rows) {
    const kernels::DrawScope draws = {SeedOf(args_.seed, lane_), lane_.epoch};
    const std::vector<core::Buffer> places = std::exchange(places_, {});
    std::vector<core::Column> columns =
        TRY(kernels::Evaluate(*args_.function, rows, draws, lane_.pool, places));
    core::Block mapped(rows.rows(), names_, std::move(columns));
    return rows.has_ids() ? mapped.WithIds(*rows.ids()) : mapped;
  }

  const MapArgs args_;
  const LaneContext lane_;
  const std::shared_ptr<const core::FieldNames> names_;
  std::vector<core::Buffer> places_;
};

std::string IdentityReason(const MapArgs& args, const core::Spec& in) {
  const ir::Expression& function = *args.function;
  const auto same = [&](const ir::Result& result, const core::FieldSpec& field) {
    const ir::Term& term = function[result.term];
    return term.kind == ir::Term::Kind::kField && term.name == field.name &&
           result.name == field.name;
  };
  const bool identity = std::ranges::equal(function.results(), in.fields(), same);
  return identity ? "it gives every row as it is" : "";
}

}  // namespace

OperatorDef MapDef() {
  return Define<Map, MapArgs>("map")
      .Doc("Replaces every row by what a function makes of it.")
      .Arg("function", &MapArgs::function, "From the row to the new row.")
      .Arg("seed", &MapArgs::seed, "For random numbers; by default the job's.",
           AtLeast(0), Seed())
      .Traits({.row_wise = true, .fills_places = true})
      .NoOp(IdentityReason)
      .Random([](const MapArgs& args) { return args.function->IsRandom(); })
      .CanFail([](const MapArgs& args) { return args.function->CanFail(); })
      .Infer([](const MapArgs& args, const core::Spec&) {
        return ResultSpec(*args.function);
      })
      .Count([](const MapArgs&, const ir::Cardinality& in) { return in; });
}

}  // namespace millrace::ops
