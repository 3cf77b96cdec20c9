// Threads that wait for sockets and timers. A connection belongs to one loop, whose one
// thread makes all its calls: connections need no locks, and requests and streams,
// which have loops of their own, never wait for each other.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "millrace/base/mutex.h"
#include "millrace/base/text.h"

namespace millrace::http {

class Loop {
 public:
  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Ends the thread, whatever there is to do, unless it was stopped.
  ~Loop();

  boost::asio::io_context& context() { return context_; }

  // Runs a function on the loop's thread, soon; drops it when stopped. Thread-safe.
  void Post(absl::AnyInvocable<void()> function);

  // Runs what is left to do and ends the thread. Whoever uses the loop has closed its
  // sockets and timers before; what does not end soon is dropped. May be repeated, by
  // one thread.
  void Stop();

 private:
  using Work = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

  void Run();

  boost::asio::io_context context_{1};
  // Asio opens what waiting needs with the first of these: here a failure can be told.
  boost::asio::steady_timer first_timer_;
  Work work_;
  base::Mutex mutex_;
  base::CondVar changed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;    // The thread has nothing to do.
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;  // Nothing is taken any more.
  std::jthread thread_;                           // Last: it uses the others.
};

// Some loops, given out in turn.
class Loops {
 public:
  explicit Loops(int threads);

  // Thread-safe.
  const std::shared_ptr<Loop>& Next();

  void Stop();

 private:
  std::vector<std::shared_ptr<Loop>> loops_;
  std::atomic<size_t> next_ = 0;
};

// Makes what has loops as members. The system may have no thread or descriptor left,
// which Asio and the standard library throw.
template <typename T, typename... Arguments>
absl::StatusOr<std::shared_ptr<T>> MakeWithLoops(Arguments&&... arguments) {
  try {
    return std::make_shared<T>(std::forward<Arguments>(arguments)...);
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(
        base::StrCat("cannot start threads that wait for sockets: ", error.what(),
                     ": raise the limits of open files and threads"));
  }
}

}  // namespace millrace::http
