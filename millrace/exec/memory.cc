#include "millrace/exec/memory.h"

#include <cstdint>

#include "millrace/base/check.h"

namespace millrace::exec {

bool Memory::HasRoom(int64_t bytes, bool first) const {
  if (first && idle()) return true;
  const int64_t limit = first ? budget_bytes_ : budget_bytes_ / 2;
  return pool_.used_bytes() + running_bytes_ + bytes <= limit;
}

bool Memory::HasRoomAhead() const {
  return pool_.used_bytes() + running_bytes_ <= budget_bytes_ / 4;
}

void Memory::Start(int64_t bytes) {
  CHECK_GE(bytes, 0);
  running_bytes_ += bytes;
  ++running_;
}

void Memory::End(int64_t bytes) {
  running_bytes_ -= bytes;
  --running_;
  CHECK_GE(running_, 0);
  CHECK_GE(running_bytes_, 0);
}

}  // namespace millrace::exec
