#include "millrace/adapters/http/connection_table.h"

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "millrace/base/check.h"
#include "millrace/base/mutex.h"

namespace millrace::http {

ConnectionTable::ConnectionTable(int connections_max)
    : connections_max_(connections_max) {
  CHECK_GT(connections_max, 0);
}

std::optional<int64_t> ConnectionTable::Add(std::function<void()> close) {
  std::function<void()> displaced;
  int64_t number = 0;
  {
    const base::MutexLock lock(&mutex_);
    if (stopped_) return std::nullopt;
    if (std::ssize(entries_) >= connections_max_) {
      const auto longest = LongestWaiting();
      if (longest == entries_.end()) return std::nullopt;
      displaced = std::move(longest->second.close);
      entries_.erase(longest);
    }
    number = ++changes_;
    entries_.emplace(number, Entry{.close = std::move(close), .since = number});
  }
  if (displaced != nullptr) displaced();
  return number;
}

ConnectionTable::Entries::iterator ConnectionTable::LongestWaiting() {
  auto longest = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->second.at_work) continue;
    if (longest == entries_.end() || entry->second.since < longest->second.since) {
      longest = entry;
    }
  }
  return longest;
}

void ConnectionTable::SetAtWork(int64_t number, bool at_work) {
  const base::MutexLock lock(&mutex_);
  const auto entry = entries_.find(number);
  if (entry == entries_.end()) return;
  entry->second.at_work = at_work;
  entry->second.since = ++changes_;
}

void ConnectionTable::Remove(int64_t number) {
  const base::MutexLock lock(&mutex_);
  entries_.erase(number);
}

void ConnectionTable::CloseAll() {
  Entries entries;
  {
    const base::MutexLock lock(&mutex_);
    stopped_ = true;
    entries.swap(entries_);
  }
  for (const auto& [number, entry] : entries) entry.close();
}

int ConnectionTable::size() const {
  const base::MutexLock lock(&mutex_);
  return static_cast<int>(entries_.size());
}

}  // namespace millrace::http
