// Prefetch: what other systems need to be told. It changes nothing.

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/passes_rows.h"

namespace millrace::ops {
namespace {

struct PrefetchArgs {
  std::optional<int64_t> count;
};

}  // namespace

OperatorDef PrefetchDef() {
  return Define<PassesRows<PrefetchArgs>, PrefetchArgs>("prefetch")
      .Doc(
          "Changes nothing: the engine works ahead of the consumer by itself, as far "
          "as "
          "its memory budget allows.")
      .Arg("count", &PrefetchArgs::count,
           "How much to prefetch, as other systems ask; any value is taken, and none "
           "has an effect.",
           AtLeast(0))
      .Traits({.row_wise = true, .keeps_fields = true})
      .NoOp([](const PrefetchArgs&, const core::Spec&) -> std::string {
        return "the engine works ahead by itself, within its memory budget";
      })
      .Infer([](const PrefetchArgs&, const core::Spec& in) { return in; })
      .Count([](const PrefetchArgs&, const ir::Cardinality& in) { return in; });
}

}  // namespace millrace::ops
