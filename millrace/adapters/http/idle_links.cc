#include "millrace/adapters/http/idle_links.h"

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"

namespace millrace::http {

IdleLinks::IdleLinks(int each_max, absl::Duration idle_max)
    : each_max_(each_max), idle_max_(idle_max) {}

std::shared_ptr<Link> IdleLinks::Take(const Loop& loop, const Address& address) {
  const base::MutexLock lock(&mutex_);
  DropOld(base::RealClock().Monotonic());
  const auto found = idle_.find(Key(&loop, ToString(address)));
  if (found == idle_.end()) return nullptr;
  std::vector<Idle>& links = found->second;
  while (!links.empty()) {
    std::shared_ptr<Link> link = std::move(links.back().link);
    links.pop_back();
    if (link->socket().IsQuiet()) return link;
    CloseSoon(std::move(link));
  }
  return nullptr;
}

void IdleLinks::Put(const Address& address, std::shared_ptr<Link> link) {
  const base::MutexLock lock(&mutex_);
  const absl::Duration now = base::RealClock().Monotonic();
  DropOld(now);
  std::vector<Idle>& links = idle_[Key(link->socket().loop().get(), ToString(address))];
  if (stopped_ || std::ssize(links) >= each_max_) return CloseSoon(std::move(link));
  links.push_back({.link = std::move(link), .since = now});
}

void IdleLinks::DropOld(absl::Duration now) {
  for (auto& [key, links] : idle_) {
    std::erase_if(links, [&](Idle& idle) {
      if (now - idle.since < idle_max_) return false;
      CloseSoon(std::move(idle.link));
      return true;
    });
  }
  absl::erase_if(idle_, [](const auto& entry) { return entry.second.empty(); });
}

void IdleLinks::CloseSoon(std::shared_ptr<Link> link) {
  const std::shared_ptr<Loop> loop = link->socket().loop();
  loop->Post([link = std::move(link)] {
    link->Close(absl::CancelledError("no longer needed"));
  });
}

void IdleLinks::CloseAll() {
  const base::MutexLock lock(&mutex_);
  stopped_ = true;
  for (auto& [key, links] : idle_) {
    for (Idle& idle : links) CloseSoon(std::move(idle.link));
  }
  idle_.clear();
}

int IdleLinks::size() const {
  const base::MutexLock lock(&mutex_);
  int size = 0;
  for (const auto& [key, links] : idle_) size += static_cast<int>(links.size());
  return size;
}

}  // namespace millrace::http
