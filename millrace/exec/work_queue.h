// Whose turn it is in an engine: which work is asked first for something to do. Those
// who share an engine are served in turn, whatever each has open; of what one has, the
// earlier comes first, so that a job's next pass never holds up this one. Of equals,
// what somebody waits for comes before what is made ahead; then who was served least,
// where who comes newly counts as much as the least of those who are there; then who
// has been there longest. Guarded by the engine's lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  struct Entry {
    EngineWork* work;
    int64_t number;        // The longer it is here, the lower.
    int64_t handicap = 0;  // It counts as having been served so much more.
    std::optional<bool> counted_as = {};  // As needed, or not, when that was set.
  };

  using Equals = std::vector<Entry>;  // About in the order that they are asked in.
  using Stages = std::map<int64_t, Equals>;

  static void Rank(Equals& equals);
  static EngineWork* PickOf(Equals& equals, absl::FunctionRef<bool(EngineWork&)> ask);
  static int64_t ServedOf(const Entry& entry);
  static bool Precedes(const Entry& one, const Entry& other);

  std::map<int64_t, Stages> owners_;
  int64_t added_ = 0;
  int64_t last_ = 0;  // The owner that had its turn.
};

}  // namespace millrace::exec
