// Global shuffle: all rows of the pass in random order, each order as likely as any
// other. Nothing is held in memory for it: rows are read in that order, so the source
// must know how many it has and reach each by itself. It is done when lanes are cut
// (lanes/cutting.h); here the rows only pass.

#include <cstdint>
#include <optional>

#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/passes_rows.h"

namespace millrace::ops {
namespace {

struct GlobalShuffleArgs {
  std::optional<int64_t> seed;
};

}  // namespace

OperatorDef GlobalShuffleDef() {
  return Define<PassesRows<GlobalShuffleArgs>, GlobalShuffleArgs>("global_shuffle")
      .Doc(
          "Puts all rows of the pass in random order, not only those of a window, and "
          "holds none of them in memory. Files must have an index (`millrace data "
          "index`); only maps, filters and choices of fields may stand before it.")
      .Arg("seed", &GlobalShuffleArgs::seed, "By default the job's.", AtLeast(0),
           Seed())
      .Traits({.order_sensitive = true,
               .reorders = true,
               .permutes_all = true,
               .keeps_fields = true})
      .Random([](const GlobalShuffleArgs&) { return true; })
      .Infer([](const GlobalShuffleArgs&, const core::Spec& in) { return in; })
      .Count([](const GlobalShuffleArgs&, const ir::Cardinality& in) { return in; });
}

}  // namespace millrace::ops
