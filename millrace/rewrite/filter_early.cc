// Moves filters up, before maps whose results they do not read: what they leave out is
// then never computed. A filter rises through maps to right behind its source, or
// behind whatever else stands there: it never crosses a shuffle (another row would be
// drawn), a batching operator, or one that goes by a row's place or changes how many
// rows there are.
//
// The rule, by what may fail:
//
//   map ─► filter    the map must not be able to fail: it would no longer see the rows
//                    that the filter leaves out, and their errors would disappear. The
//                    condition may: it sees the same rows in the same blocks.
//   filter ─► filter neither may be able to fail: each comes to see rows that the other
//                    would have left out, or no longer sees them. Two filters change
//                    places only on the way past a map above them both.
//
// The condition must read only fields that the map passes on, under whatever name: a
// value that the map computes would be computed twice. Draws stay the same, since maps
// and filters keep row identities and calls keep their numbers.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/rewrite/failing_results.h"
#include "millrace/rewrite/pass.h"

namespace millrace::rewrite {
namespace {

// The fields that a map passes on: from the name behind it to the name before it.
absl::flat_hash_map<std::string, std::string> PassedOn(const ir::Expression& function) {
  absl::flat_hash_map<std::string, std::string> names;
  for (const ir::Result& result : function.results()) {
    const ir::Term& term = function[result.term];
    if (term.kind == ir::Term::Kind::kField) names.emplace(result.name, term.name);
  }
  return names;
}

// The condition as it reads before the map; nothing when it needs what the map makes.
absl::StatusOr<std::optional<ir::Expression>> Before(const ir::Pipeline& map,
                                                     const ir::Expression& condition,
                                                     const ir::Catalog& catalog) {
  const absl::flat_hash_map<std::string, std::string> passed =
      PassedOn(MapFunction(map));
  ir::ExpressionBuilder builder(catalog, map.inputs()[0].spec(), map.NextCallNumber());
  absl::flat_hash_map<std::string, ir::TermId> fields;
  for (const std::string& name : condition.FieldsRead()) {
    const auto found = passed.find(name);
    if (found == passed.end()) return std::nullopt;
    fields.emplace(name, TRY(builder.Field(found->second)));
  }
  const std::vector<ir::TermId> results = TRY(ir::Inline(condition, builder, fields));
  TRY(builder.AddResult("", results[0]));
  return TRY(builder.Build());
}

// A filter on its way up.
class Rise {
 public:
  Rise(const ir::Pipeline& filter, const ir::Catalog& catalog)
      : filter_(filter), catalog_(catalog), condition_(FilterCondition(filter)) {}

  // Gives the pipeline with the filter as high as it may stand; nothing when it stands
  // there already.
  absl::StatusOr<std::optional<ir::Pipeline>> Run() {
    ir::Pipeline above = filter_.inputs()[0];
    while (TRY(Crosses(above))) above = above.inputs()[0];
    if (maps_ == 0) return std::nullopt;
    const ir::Pipeline& highest = crossed_[crossed_to_last_map_ - 1];
    ir::Arguments arguments = filter_.arguments();
    arguments.Set("predicate",
                  std::make_shared<const ir::Expression>(std::move(condition_)));
    ir::Pipeline rebuilt =
        TRY(ir::Pipeline::Make(catalog_, "filter", arguments, {highest.inputs()[0]}));
    for (size_t i = crossed_to_last_map_; i-- > 0;) {
      rebuilt = TRY(WithInputs(crossed_[i], {rebuilt}, catalog_));
    }
    return rebuilt;
  }

  int maps() const { return maps_; }

 private:
  absl::StatusOr<bool> Crosses(const ir::Pipeline& above) {
    if (above.name() == "filter") {
      if (CanFail(FilterCondition(above)) || CanFail(condition_)) return false;
      crossed_.push_back(above);
      return true;
    }
    if (above.name() != "map" || CanFail(MapFunction(above))) return false;
    std::optional<ir::Expression> condition = TRY(Before(above, condition_, catalog_));
    if (!condition) return false;
    condition_ = *std::move(condition);
    crossed_.push_back(above);
    crossed_to_last_map_ = crossed_.size();
    ++maps_;
    return true;
  }

  const ir::Pipeline& filter_;
  const ir::Catalog& catalog_;
  ir::Expression condition_;
  std::vector<ir::Pipeline> crossed_;  // From below to above.
  size_t crossed_to_last_map_ = 0;     // Of those: filters above the last map stay.
  int maps_ = 0;
};

absl::StatusOr<std::optional<Replacement>> Raise(const ir::Pipeline& node,
                                                 const ir::Catalog& catalog) {
  if (node.name() != "filter") return std::nullopt;
  Rise rise(node, catalog);
  const std::optional<ir::Pipeline> risen = TRY(rise.Run());
  if (!risen) return std::nullopt;
  return Replacement{*risen, base::StrCat("filter moves before ", rise.maps(),
                                          rise.maps() == 1 ? " map" : " maps",
                                          ": what it leaves out is not computed")};
}

absl::StatusOr<Outcome> FilterEarly(const ir::Pipeline& pipeline,
                                    const ir::Catalog& catalog) {
  return ReplaceNodes(pipeline, catalog, Raise);
}

}  // namespace

Pass FilterEarlyPass() {
  return {"filter_early", "Moves filters before maps whose results they do not read.",
          FilterEarly};
}

}  // namespace millrace::rewrite
