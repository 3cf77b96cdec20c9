#include "millrace/transport/shared_host.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "millrace/base/mutex.h"

namespace millrace::transport {
namespace {

// A file that is gone is not taken out of the list: with so many it ends.
constexpr size_t kWritableMax = 1 << 16;

}  // namespace

int64_t SharedHost::Add() {
  bool ends = false;
  int64_t number = 0;
  {
    const base::MutexLock lock(&mutex_);
    ++readers_;
    number = next_++;
    ends = std::exchange(writer_, 0) != 0;
  }
  if (ends) Trim();
  return number;
}

void SharedHost::Remove(int64_t reader) {
  bool ends = false;
  {
    const base::MutexLock lock(&mutex_);
    --readers_;
    ends = writer_ == reader;
    if (ends) writer_ = 0;
  }
  if (ends) Trim();
}

void SharedHost::LetWrite(int64_t reader) {
  const base::MutexLock lock(&mutex_);
  if (readers_ == 1) writer_ = reader;
}

bool SharedHost::MayWrite(int64_t reader) const {
  const base::MutexLock lock(&mutex_);
  return writer_ == reader;
}

bool SharedHost::MayReuse(int64_t file) const {
  const base::MutexLock lock(&mutex_);
  const auto found = writable_.find(file);
  return found == writable_.end() || found->second == writer_;
}

std::optional<SharedHost::Access> SharedHost::Lend(int64_t file, int64_t reader) {
  const base::MutexLock lock(&mutex_);
  const auto found = writable_.find(file);
  if (writer_ != reader) {
    if (found != writable_.end()) return std::nullopt;
    return Access::kReads;
  }
  if (found != writable_.end()) {
    if (found->second != reader) return std::nullopt;
    return Access::kWrites;
  }
  if (writable_.size() >= kWritableMax) return std::nullopt;
  writable_[file] = reader;
  return Access::kWrites;
}

void SharedHost::Trim() const {
  if (options_.trim != nullptr) options_.trim();
}

}  // namespace millrace::transport
