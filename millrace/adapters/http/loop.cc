#include "millrace/adapters/http/loop.h"

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"

namespace millrace::http {
namespace {

// Closed connections end at once; only looking up a name can take longer.
constexpr absl::Duration kStopWithin = absl::Seconds(10);

}  // namespace

Loop::Loop()
    : first_timer_(context_),
      work_(boost::asio::make_work_guard(context_)),
      thread_([this] { Run(); }) {}

Loop::~Loop() {
  if (thread_.joinable()) context_.stop();
}

void Loop::Run() {
  context_.run();
  const base::MutexLock lock(&mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

void Loop::Post(absl::AnyInvocable<void()> function) {
  const base::MutexLock lock(&mutex_);
  if (stopped_) return;
  boost::asio::post(context_, std::move(function));
}

void Loop::Stop() {
  if (!thread_.joinable()) return;
  work_.reset();
  {
    const absl::Time deadline = base::RealClock().Now() + kStopWithin;
    const base::MutexLock lock(&mutex_);
    while (!ended_) {
      if (!changed_.WaitUntil(&mutex_, deadline)) break;
    }
  }
  context_.stop();
  thread_.join();
  {
    const base::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  // What was posted after the thread found nothing more to do.
  context_.restart();
  context_.poll();
}

Loops::Loops(int threads) {
  CHECK_GT(threads, 0);
  for (int i = 0; i < threads; ++i) loops_.push_back(std::make_shared<Loop>());
}

const std::shared_ptr<Loop>& Loops::Next() { return loops_[next_++ % loops_.size()]; }

void Loops::Stop() {
  for (const std::shared_ptr<Loop>& loop : loops_) loop->Stop();
}

}  // namespace millrace::http
