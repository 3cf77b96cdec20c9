// Connections that wait for their next request, by address and loop. They are few, and
// not kept long. Thread-safe; links are taken and put on their own loop's thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/base/mutex.h"

namespace millrace::http {

class IdleLinks {
 public:
  IdleLinks(int each_max, absl::Duration idle_max);

  // Gives one that is still good, or none.
  std::shared_ptr<Link> Take(const Loop& loop, const Address& address);

  // Keeps it, or closes it where there are enough.
  void Put(const Address& address, std::shared_ptr<Link> link);

  // Closes all, on their loops, and keeps none any more.
  void CloseAll();

  int size() const;

 private:
  struct Idle {
    std::shared_ptr<Link> link;
    absl::Duration since;
  };

  using Key = std::pair<const Loop*, std::string>;

  void DropOld(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void CloseSoon(std::shared_ptr<Link> link);

  const int each_max_;
  const absl::Duration idle_max_;
  mutable base::Mutex mutex_;
  absl::flat_hash_map<Key, std::vector<Idle>> idle_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::http
