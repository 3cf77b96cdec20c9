// How the operators of a plan are grouped into stages. A stage is what one thread does
// with a block before it lets go of it: reading, a run of row-wise operators (any
// number of threads at once, blocks rejoin in order), or a run of operators that need
// the lane's rows in order (one thread at a time). What writes is a stage of its own,
// as its end waits for the disk. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/exec/pass_plan.h"
#include "millrace/ir/pipeline.h"

namespace millrace::exec {

struct Stage {
  enum class Kind : uint8_t { kRead, kRowWise, kInOrder, kWrite };

  Kind kind = Kind::kRead;
  int first = 0;  // Places of its operators in the plan.
  int last = 0;

  bool operator==(const Stage&) const = default;
};

// Tells whether the operator at a place gives exactly one row for each row, looking at
// no other, and leaving none out.
bool GivesOneRowPerRow(const PassPlan& plan, int place);

// Groups operators, the source first. A stage begins at each of `cuts` besides where
// the kind changes.
std::vector<Stage> CutIntoStages(const std::vector<ir::Pipeline>& nodes,
                                 const std::vector<int>& cuts);

// The place of the first of the operators right before the joining one that give
// exactly one row for each row: rows can be left out there as well as at that one. It
// is the joining place where there is no such operator, and 0 where the source's own
// rows can be left out: those that it was asked for all come, none of them being wrong.
int SkipPlace(const PassPlan& plan);

}  // namespace millrace::exec
