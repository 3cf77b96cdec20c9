// A queue between threads that holds at most `capacity` items: who pushes into a full
// one waits, which is how a slow stage holds back a fast one. Every wait ends: at its
// deadline (on the real clock), when a stop is requested, or when the queue is closed.
// Safe for any number of pushing and popping threads; an operation costs a lock.
//
// Statuses: DeadlineExceeded, the time is over and nothing changed; Cancelled, the
// queue is closed or a stop was requested.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/check.h"
#include "millrace/base/mutex.h"

namespace millrace::base {

template <typename T>
class BoundedQueue {
 public:
  // Requires: capacity > 0.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {
    CHECK_GT(capacity, 0);
  }

  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Appends an item, waiting for room. Moves from `item` only if it returns OK.
  absl::Status Push(T&& item, absl::Time deadline, const std::stop_token& stop = {});

  // Appends an item if there is room and the queue is open; else returns false and
  // leaves the item.
  bool TryPush(T&& item);

  // Takes the first item, waiting for one. A closed queue still hands out what it
  // holds.
  absl::StatusOr<T> Pop(absl::Time deadline, const std::stop_token& stop = {});

  // Takes the first item if there is one.
  std::optional<T> TryPop();

  // Refuses further pushes; pops go on until the queue is empty. May be repeated.
  void Close();

  // Closes the queue and drops what it holds.
  void Cancel();

  size_t capacity() const { return capacity_; }

  size_t size() const;
  bool closed() const;

 private:
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return items_.size() < capacity_;
  }

  bool HasItem() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !items_.empty(); }

  static absl::Status Stopped() { return absl::CancelledError("stop was requested"); }

  // Waits until `ready` holds or the queue is closed; an error if neither came in time.
  absl::Status Await(bool (BoundedQueue::*ready)() const, CondVar& changed,
                     absl::Time deadline, const std::stop_token& stop)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Both move from the item where they succeed.
  bool AppendIfRoom(T& item);
  void Append(T& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  T TakeFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t capacity_;
  mutable Mutex mutex_;
  CondVar item_added_;
  CondVar item_taken_;
  std::deque<T> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

template <typename T>
absl::Status BoundedQueue<T>::Push(T&& item, absl::Time deadline,
                                   const std::stop_token& stop) {
  if (stop.stop_requested()) return Stopped();
  if (AppendIfRoom(item)) return absl::OkStatus();
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(&mutex_);
    item_taken_.NotifyAll();
  });
  MutexLock lock(&mutex_);
  absl::Status waited = Await(&BoundedQueue::HasRoom, item_taken_, deadline, stop);
  if (!waited.ok()) return waited;
  if (closed_) return absl::CancelledError("queue is closed");
  Append(item);
  return absl::OkStatus();
}

template <typename T>
bool BoundedQueue<T>::TryPush(T&& item) {
  return AppendIfRoom(item);
}

template <typename T>
absl::StatusOr<T> BoundedQueue<T>::Pop(absl::Time deadline,
                                       const std::stop_token& stop) {
  if (stop.stop_requested()) return Stopped();
  if (std::optional<T> item = TryPop()) return *std::move(item);
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(&mutex_);
    item_added_.NotifyAll();
  });
  MutexLock lock(&mutex_);
  absl::Status waited = Await(&BoundedQueue::HasItem, item_added_, deadline, stop);
  if (!waited.ok()) return waited;
  if (!HasItem()) return absl::CancelledError("queue is closed");
  return TakeFirst();
}

template <typename T>
std::optional<T> BoundedQueue<T>::TryPop() {
  MutexLock lock(&mutex_);
  if (!HasItem()) return std::nullopt;
  return TakeFirst();
}

template <typename T>
void BoundedQueue<T>::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
  item_added_.NotifyAll();
  item_taken_.NotifyAll();
}

template <typename T>
void BoundedQueue<T>::Cancel() {
  Close();
  std::deque<T> dropped;  // Destroyed after the lock is released.
  MutexLock lock(&mutex_);
  dropped.swap(items_);
}

template <typename T>
size_t BoundedQueue<T>::size() const {
  MutexLock lock(&mutex_);
  return items_.size();
}

template <typename T>
bool BoundedQueue<T>::closed() const {
  MutexLock lock(&mutex_);
  return closed_;
}

template <typename T>
absl::Status BoundedQueue<T>::Await(bool (BoundedQueue::*ready)() const,
                                    CondVar& changed, absl::Time deadline,
                                    const std::stop_token& stop) {
  bool in_time = true;
  while (!(this->*ready)() && !closed_) {
    if (stop.stop_requested()) return Stopped();
    if (!in_time) return absl::DeadlineExceededError("queue wait ran out of time");
    in_time = changed.WaitUntil(&mutex_, deadline);
  }
  return absl::OkStatus();
}

template <typename T>
bool BoundedQueue<T>::AppendIfRoom(T& item) {
  MutexLock lock(&mutex_);
  if (closed_ || !HasRoom()) return false;
  Append(item);
  return true;
}

template <typename T>
void BoundedQueue<T>::Append(T& item) {
  items_.push_back(std::move(item));
  CHECK_LE(items_.size(), capacity_);
  item_added_.NotifyOne();
}

template <typename T>
T BoundedQueue<T>::TakeFirst() {
  T item = std::move(items_.front());
  items_.pop_front();
  item_taken_.NotifyOne();
  return item;
}

}  // namespace millrace::base
