// What the writers of shared memory in one process have in common: how many readers
// there are, who of them may write, and which memory some reader can write to.
//
// One reader alone may write to what it is lent; what it can write to is never lent to
// another, and not used again once there is another. From then on memory is lent
// read-only, sealed so that nobody can map it otherwise. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"

#include "millrace/base/mutex.h"

namespace millrace::transport {

struct SharedHostOptions {
  bool enabled = true;
  int64_t lent_max = int64_t{1} << 30;      // Bytes that one reader may have at a time.
  int64_t loans_max = 256;                  // The same; each has a descriptor here.
  int64_t piece_least = int64_t{64} << 10;  // Less is copied: that is quicker.
  // Gives back memory that is kept to be used again: a reader could write to some.
  std::function<void()> trim = {};
};

class SharedHost {
 public:
  enum class Access : uint8_t { kReads, kWrites };

  explicit SharedHost(SharedHostOptions options) : options_(std::move(options)) {}

  const SharedHostOptions& options() const { return options_; }

  // A reader came, with whatever carrier; gives its number.
  int64_t Add();

  // It is gone.
  void Remove(int64_t reader);

  // Lets it write to what it is lent, if there is no other.
  void LetWrite(int64_t reader);

  // Says how a file may be lent to a reader, and remembers it; nothing where another
  // can write to it.
  std::optional<Access> Lend(int64_t file, int64_t reader);

  // Whether a file that came back may be used again: not where a reader can write to it
  // that is not the only one any more.
  bool MayReuse(int64_t file) const;

  // Whether what this reader is lent may be written to.
  bool MayWrite(int64_t reader) const;

 private:
  void Trim() const;

  const SharedHostOptions options_;
  mutable base::Mutex mutex_;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  int64_t readers_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t writer_ ABSL_GUARDED_BY(mutex_) = 0;  // The reader that may write; 0: none.
  // Files that a reader can write to, and which.
  std::map<int64_t, int64_t> writable_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace::transport
