// Rows that a pass leaves out, because they are wrong and an `ignore_errors` follows.
//
// Each travels to the consumer between the rows it stood between, and counts when it
// arrives there: so what is counted, what is shown, and where a budget stops the pass
// are the same with any number of threads, however far lanes are produced ahead. A pass
// that goes on from a state counts from nothing. It redoes a lane, but not the
// counting: what stood before the rows already taken is passed over with them. So no
// row is counted by two runs of a pass; those behind the last row of a lane may be
// counted by none, where a run stops right there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "millrace/ir/pipeline.h"

namespace millrace::exec {

// Gives the place of the nearest operator behind a place that ignores errors; -1 where
// there is none.
int IgnoringPlace(const std::vector<ir::Pipeline>& nodes, int place);

// Tells whether the operator at a place, or the source, may leave rows out.
// `ignored_behind`: errors are ignored behind all of the nodes.
bool MayLeaveOut(const std::vector<ir::Pipeline>& nodes, int place,
                 bool ignored_behind = false);

// Operators are told by their numbers in the pipeline's text form.
struct LeftOutRow {
  int number = 0;    // Of the operator that the row is wrong for.
  int by = -1;       // Of the one that ignores that; -1 while it is yet to come.
  absl::Status why;  // Names operator and row.
};

// What has been left out so far. One thread uses it.
class LeftOut {
 public:
  // Of all operators of a pipeline, as the text form has them.
  explicit LeftOut(const std::vector<ir::Pipeline>& nodes);

  // Counts a row. An error once there are more than the budget; it names the first.
  absl::Status Add(const LeftOutRow& row);

  // Rows left out, by number of the operator.
  const std::vector<int64_t>& counts() const { return counts_; }

  // The first errors, as many as are to be reported.
  const std::vector<std::string>& first() const { return first_; }

 private:
  // An operator that ignores errors, and what it let pass.
  struct Ignoring {
    int64_t budget = 0;
    int64_t report = 0;
    int64_t count = 0;
    absl::Status first;
    std::string name;
  };

  std::vector<int64_t> counts_;     // By number.
  std::vector<Ignoring> ignoring_;  // By number; meaningless for other operators.
  std::vector<std::string> first_;
};

}  // namespace millrace::exec
