#include "millrace/exec/first_turn.h"

#include <cstdint>

#include "millrace/base/mutex.h"

namespace millrace::exec {

void FirstTurn::Expect(int64_t splits) {
  const base::MutexLock lock(&mutex_);
  left_ = splits;
}

void FirstTurn::End(bool any) {
  const base::MutexLock lock(&mutex_);
  --left_;
  any_ = any_ || any;
}

bool FirstTurn::HasNoRows() const {
  const base::MutexLock lock(&mutex_);
  return left_ == 0 && !any_;
}

}  // namespace millrace::exec
