#include "millrace/exec/left_out.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"

namespace millrace::exec {

int IgnoringPlace(const std::vector<ir::Pipeline>& nodes, int place) {
  for (int behind = place + 1; behind < static_cast<int>(nodes.size()); ++behind) {
    if (nodes[behind].schema().traits.ignores_errors) return behind;
  }
  return -1;
}

bool MayLeaveOut(const std::vector<ir::Pipeline>& nodes, int place,
                 bool ignored_behind) {
  const ir::Pipeline& node = nodes[place];
  const bool ignored = ignored_behind || IgnoringPlace(nodes, place) >= 0;
  return ignored && node.schema().can_fail(node.arguments());
}

LeftOut::LeftOut(const std::vector<ir::Pipeline>& nodes)
    : counts_(nodes.size()), ignoring_(nodes.size()) {
  for (size_t number = 0; number < nodes.size(); ++number) {
    if (!nodes[number].schema().traits.ignores_errors) continue;
    const ir::Value& budget = nodes[number].arguments()["budget"];
    ignoring_[number] = {
        .budget = budget.is_none() ? std::numeric_limits<int64_t>::max()
                                   : budget.As<int64_t>(),
        .report = nodes[number].arguments()["report"].As<int64_t>(),
        .count = 0,
        .first = {},
        .name = base::StrCat(nodes[number].name(), " (%", number, ")")};
  }
}

absl::Status LeftOut::Add(const LeftOutRow& row) {
  CHECK_GE(row.by, 0) << "a row was left out that nobody ignores";
  Ignoring& by = ignoring_[row.by];
  if (by.count == 0) by.first = row.why;
  ++by.count;
  ++counts_[row.number];
  if (by.count <= by.report) first_.emplace_back(base::ToStd(row.why.message()));
  if (by.count <= by.budget) return absl::OkStatus();
  return absl::DataLossError(base::StrCat(
      by.name, ": left out ", by.count, by.count == 1 ? " row" : " rows",
      ", more than its budget of ", by.budget,
      "; mend the data, or raise the budget if that many may be missing; the first: ",
      by.first.message()));
}

}  // namespace millrace::exec
