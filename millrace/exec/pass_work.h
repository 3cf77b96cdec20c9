// What lanes of one plan share while they run, however many are open: operators for
// every thread, and what rows cost so far. The engine's lock guards it, but for the
// operators that a thread runs.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "millrace/exec/pass_place.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/read_stage.h"
#include "millrace/exec/row_wise_stage.h"
#include "millrace/exec/stages.h"

namespace millrace::exec {

class PassWork {
 public:
  // Requires: both outlive it.
  PassWork(const PassPlan& plan, const PassPlace& place);

  ReadWork& reading() { return reading_; }

  // The work of a row-wise stage; made when it is first asked for.
  RowWiseWork& Of(const Stage& stage);

 private:
  const PassPlan& plan_;
  const PassPlace& place_;
  ReadWork reading_;
  std::map<std::pair<int, int>, RowWiseWork> row_wise_;  // By first and last place.
};

// Where the batches of a lane begin that shares none with others: far apart from those
// of all others. Requires: 0 <= number < kLanesApart, and the plan joins lanes.
inline constexpr int64_t kLanesApart = int64_t{1} << 22;
int64_t FirstPlace(const PassPlan& plan, int64_t number);

// Lets go of the memory of batches that such a lane began and nobody will fill.
void DropSlots(RowWiseWork& work, int64_t first_place);

}  // namespace millrace::exec
