// Keeps what a channel tells, for tests that wait for it.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/transport/channel.h"

namespace millrace::transport {

// Must outlive the channel's on_closed.
class Recorder {
 public:
  ChannelEvents Events() {
    return {.on_message = [this](Received message) { Add(std::move(message)); },
            .on_closed = [this](const absl::Status& why) { SetClosed(why); }};
  }

  // Waits until so many messages came, or the channel is closed; gives all so far.
  std::vector<Received> Wait(size_t count) {
    const absl::Time deadline = Deadline();
    const base::MutexLock lock(&mutex_);
    while (received_.size() < count && !closed_) {
      if (!changed_.WaitUntil(&mutex_, deadline)) break;
    }
    return received_;
  }

  // Lets go of all that came.
  void Forget() {
    const base::MutexLock lock(&mutex_);
    received_.clear();
  }

  absl::Status WaitClosed() {
    const absl::Time deadline = Deadline();
    const base::MutexLock lock(&mutex_);
    while (!closed_) {
      if (!changed_.WaitUntil(&mutex_, deadline)) {
        return absl::DeadlineExceededError("the channel was not closed");
      }
    }
    return *closed_;
  }

 private:
  static absl::Time Deadline() { return base::RealClock().Now() + absl::Seconds(60); }

  void Add(Received message) {
    const base::MutexLock lock(&mutex_);
    EXPECT_FALSE(closed_) << "a message after the close";
    received_.push_back(std::move(message));
    changed_.NotifyAll();
  }

  void SetClosed(const absl::Status& why) {
    const base::MutexLock lock(&mutex_);
    EXPECT_FALSE(closed_) << "closed twice";
    closed_ = why;
    changed_.NotifyAll();
  }

  base::Mutex mutex_;
  base::CondVar changed_;
  std::vector<Received> received_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace::transport
