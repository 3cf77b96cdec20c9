// Whose turn it is in an engine: which work is asked first for something to do. Those
// who share an engine are served in turn, whatever each has open; of what one has, the
// earlier comes first, so that a job's next pass never holds up this one; among equals
// each has its turn. Guarded by the engine's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/functional/function_ref.h"

#include "millrace/exec/engine_work.h"

namespace millrace::exec {

// Where a work stands.
struct WorkPlace {
  int64_t owner = 0;  // Each is served in turn; 0: all that say nothing of it.
  int64_t stage = 0;  // The lower, the sooner.
};

class WorkQueue {
 public:
  void Add(EngineWork& work, const WorkPlace& place);
  void Remove(const EngineWork& work);

  // Asks one after the other, until one says yes; null: none did.
  EngineWork* Pick(absl::FunctionRef<bool(EngineWork&)> ask);

  // Tells whether one of them says yes.
  bool Any(absl::FunctionRef<bool(const EngineWork&)> ask) const;

  bool empty() const { return owners_.empty(); }

 private:
  struct Equals {
    std::vector<EngineWork*> works;
    size_t next = 0;  // Asked first.
  };

  using Stages = std::map<int64_t, Equals>;

  static EngineWork* PickOf(Equals& equals, absl::FunctionRef<bool(EngineWork&)> ask);

  std::map<int64_t, Stages> owners_;
  int64_t last_ = 0;  // The owner that had its turn.
};

}  // namespace millrace::exec
