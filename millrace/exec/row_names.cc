#include "millrace/exec/row_names.h"

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

// Where a row begins in its file, which is read to find it; empty where rows do not
// begin at a byte, are files, or are not found.
std::string WhereOf(const PassPlan& plan, const core::RowId& id,
                    const std::string& name) {
  const auto places = plan.sources->PlacesOf({id});
  if (!places.ok()) return "";
  const ops::RowPlace& place = places->front().front();
  if (!place.byte || place.file == name) return "";
  const std::string key = place.key ? base::StrCat(", key ", *place.key) : "";
  return base::StrCat(" (at byte ", *place.byte, key, ")");
}

}  // namespace

absl::Status NamedPlace(const PassPlan& plan, const AtPlace& at,
                        const absl::Status& status) {
  return base::Annotate(status,
                        base::StrCat(plan.NameOf(at.place), ", lane ", at.lane));
}

absl::Status NamedRow(const PassPlan& plan, const AtPlace& at, const ops::BadRow& row) {
  std::string name = row.id ? plan.sources->NameOf(*row.id) : "";
  if (name.empty()) return NamedPlace(plan, at, row.why);
  // Not of rows that are left out: there may be many, and finding one takes time.
  if (!plan.Ignores(at.place)) name += WhereOf(plan, *row.id, name);
  const std::string of_batch =
      row.rows == 1 ? "" : base::StrCat("batch of ", row.rows, " rows from ");
  return base::Annotate(row.why,
                        base::StrCat(plan.NameOf(at.place), ": ", of_batch, name));
}

}  // namespace millrace::exec
