// IgnoreErrors: leaves out rows that are wrong for an operator before it. The operators
// do that themselves (bad_rows.h), since the traits say that one like this follows; the
// rows that are left pass through it. Who runs the pass counts those left out, keeps
// the first errors, and stops where there are more than the budget. What is wrong with
// no row alone, such as a batch of rows of differing shape, is an error as ever.

#include <cstdint>
#include <optional>

#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/passes_rows.h"

namespace millrace::ops {
namespace {

struct IgnoreErrorsArgs {
  std::optional<int64_t> budget;
  int64_t report = 10;
};

}  // namespace

OperatorDef IgnoreErrorsDef() {
  return Define<PassesRows<IgnoreErrorsArgs>, IgnoreErrorsArgs>("ignore_errors")
      .Doc(
          "Leaves out rows that are corrupt or that a function before it fails on, and "
          "counts them. Files that cannot be read are errors as ever.")
      .Arg("budget", &IgnoreErrorsArgs::budget,
           "How many rows may be left out in a pass before it fails; any number by "
           "default.",
           AtLeast(0))
      .Arg("report", &IgnoreErrorsArgs::report,
           "How many of the errors are kept to be shown, the first ones.", AtLeast(0),
           AtMost(10'000))
      .Traits({.row_wise = true,
               .changes_cardinality = true,
               .keeps_fields = true,
               .ignores_errors = true})
      .Infer([](const IgnoreErrorsArgs&, const core::Spec& in) { return in; })
      .Count([](const IgnoreErrorsArgs&, const ir::Cardinality& in) {
        if (in.known() && in.rows() == 0) return in;
        return in.infinite() ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
