// Decides what work there is memory for. Work that makes data (reading, row-wise
// operators) asks before it starts, with an estimate; it runs only while what is in
// use and what running work may still take stay within the budget. Half of it is kept
// for the lane being delivered, so that others never take what that one needs; and it
// goes on all the same where nothing else runs. Nothing waits here: work that is
// refused is asked for again when something was freed. Not thread-safe: the engine's
// lock guards it.
#pragma once

#include <cstdint>

#include "millrace/core/pool.h"

namespace millrace::exec {

class Memory {
 public:
  // Requires: the pool outlives it.
  Memory(const core::Pool& pool, int64_t budget_bytes)
      : pool_(pool), budget_bytes_(budget_bytes) {}

  int64_t budget_bytes() const { return budget_bytes_; }

  // Tells whether work that takes about so many bytes may start. `first` is the lane
  // being delivered.
  bool HasRoom(int64_t bytes, bool first) const;

  // Tells whether what nobody waits for yet may be made: it leaves three quarters to
  // what somebody does.
  bool HasRoomAhead() const;

  // Counts work that has started, and that has ended.
  void Start(int64_t bytes);
  void End(int64_t bytes);

  // Nothing runs: then the first lane may go on whatever the budget says, since
  // nothing else will ever free memory.
  bool idle() const { return running_ == 0; }

 private:
  const core::Pool& pool_;
  const int64_t budget_bytes_;
  int64_t running_bytes_ = 0;  // What running work may still take.
  int64_t running_ = 0;
};

}  // namespace millrace::exec
