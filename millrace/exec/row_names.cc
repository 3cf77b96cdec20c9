#include "millrace/exec/row_names.h"

#include <iterator>
#include <optional>
#include <string>

#include "absl/status/status.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

// Empty where the identity is not one of the source's.
std::string NameOf(const PassPlan& plan, const core::RowId& id) {
  const std::optional<ops::SourceRow> row =
      ops::SourceRowOf(id, plan.nodes[0].call_number());
  if (!row || row->split >= std::ssize(plan.manifest.splits)) return "";
  std::string name = plan.source->NameOfRow(row->split, row->row);
  if (!name.empty()) return name;
  return base::StrCat("row ", row->row, " of ", plan.manifest.splits[row->split].name);
}

}  // namespace

absl::Status NamedPlace(const PassPlan& plan, const AtPlace& at,
                        const absl::Status& status) {
  return base::Annotate(status,
                        base::StrCat(plan.NameOf(at.place), ", lane ", at.lane));
}

absl::Status NamedRow(const PassPlan& plan, const AtPlace& at, const ops::BadRow& row) {
  const std::string name = row.id ? NameOf(plan, *row.id) : "";
  if (name.empty()) return NamedPlace(plan, at, row.why);
  const std::string of_batch =
      row.rows == 1 ? "" : base::StrCat("batch of ", row.rows, " rows from ");
  return base::Annotate(row.why,
                        base::StrCat(plan.NameOf(at.place), ": ", of_batch, name));
}

}  // namespace millrace::exec
