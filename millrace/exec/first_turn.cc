#include "millrace/exec/first_turn.h"

#include <cstdint>
#include <iterator>

#include "millrace/base/mutex.h"

namespace millrace::exec {

void FirstTurn::Expect(int64_t splits) {
  const base::MutexLock lock(&mutex_);
  splits_ = splits;
}

void FirstTurn::End(int64_t split, bool any) {
  const base::MutexLock lock(&mutex_);
  ended_.insert(split);
  any_ = any_ || any;
}

bool FirstTurn::HasNoRows() const {
  const base::MutexLock lock(&mutex_);
  return std::ssize(ended_) == splits_ && !any_;
}

}  // namespace millrace::exec
