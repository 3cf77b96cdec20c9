#include "millrace/exec/row_names.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

// Where a row begins in its file; empty where rows do not begin at a byte, or are
// files.
std::string WhereOf(const ops::RowPlace& place, const std::string& name) {
  if (!place.byte || place.file == name) return "";
  const std::string key = place.key ? base::StrCat(", key ", *place.key) : "";
  return base::StrCat(" (at byte ", *place.byte, key, ")");
}

// The names of a row, or of those it was made of, for people. Files are read to find
// where rows begin.
std::string NameOf(const PassPlan& plan, const core::RowId& id, bool with_places) {
  std::vector<std::string> names = plan.sources->NamesOf(id);
  if (names.empty()) return "";
  const size_t told = names.size() == 2 ? 2 : 1;
  if (with_places) {
    const auto places = plan.sources->PlacesOf({id});
    for (size_t i = 0; i < told && places.ok(); ++i) {
      names[i] += WhereOf(places->front()[i], names[i]);
    }
  }
  if (names.size() == 1) return names[0];
  if (names.size() == 2) return base::StrCat(names[0], " and ", names[1]);
  return base::StrCat(names[0], " and ", names.size() - 1, " others");
}

}  // namespace

absl::Status NamedPlace(const PassPlan& plan, const AtPlace& at,
                        const absl::Status& status) {
  return base::Annotate(status,
                        base::StrCat(plan.NameOf(at.place), ", lane ", at.lane));
}

absl::Status NamedRow(const PassPlan& plan, const AtPlace& at, const ops::BadRow& row) {
  // Not the places of rows that are left out: there may be many, and finding one takes
  // time.
  const bool with_places = !plan.Ignores(at.place);
  const std::string name = row.id ? NameOf(plan, *row.id, with_places) : "";
  if (name.empty()) return NamedPlace(plan, at, row.why);
  const std::string of_batch =
      row.rows == 1 ? "" : base::StrCat("batch of ", row.rows, " rows from ");
  return base::Annotate(row.why,
                        base::StrCat(plan.NameOf(at.place), ": ", of_batch, name));
}

}  // namespace millrace::exec
