#include "millrace/transport/in_process.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/message_writer.h"

namespace millrace::transport {
namespace {

using base::literals::operator""_GiB;

// More than this is never waiting where credits are kept.
constexpr base::Bytes kQueuedMax = 4_GiB;

absl::StatusOr<core::Buffer> Copied(const Message& message,
                                    const ChannelEvents& events) {
  const base::Bytes bytes(message.payload.bytes());
  if (bytes.count() == 0) return core::Buffer();
  core::Buffer buffer =
      TRY(events.allocate != nullptr ? events.allocate(message.head, bytes)
                                     : core::HeapPool().Allocate(bytes.count()));
  message.payload.CopyTo(buffer.mutable_data());
  return buffer;
}

}  // namespace

// Runs tasks one after the other on one thread.
class InProcess::Worker {
 public:
  using Task = std::function<void()>;

  Worker() : thread_([this] { Run(); }) {}

  // Drops the task when stopped.
  void Post(Task task) {
    const base::MutexLock lock(&mutex_);
    if (stopped_) return;
    tasks_.push_back(std::move(task));
    changed_.NotifyOne();
  }

  void Remember(std::weak_ptr<End> end) {
    const base::MutexLock lock(&mutex_);
    std::erase_if(ends_, [](const std::weak_ptr<End>& old) { return old.expired(); });
    ends_.push_back(std::move(end));
  }

  void Stop();

 private:
  void Run() {
    for (Task task = Next(); task != nullptr; task = Next()) task();
  }

  // Waits for a task; gives none when stopped and all are done.
  Task Next() {
    const base::MutexLock lock(&mutex_);
    while (tasks_.empty() && !stopped_) {
      changed_.WaitUntil(&mutex_, absl::InfiniteFuture());
    }
    if (tasks_.empty()) return nullptr;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  base::Mutex mutex_;
  base::CondVar changed_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<End>> ends_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // Last: it uses the others.
};

class InProcess::End final : public Channel, public std::enable_shared_from_this<End> {
 public:
  End(std::shared_ptr<Worker> worker, ChannelEvents events)
      : worker_(std::move(worker)), events_(std::move(events)) {}

  // Before anything else.
  void set_peer(std::shared_ptr<End> peer) { peer_ = std::move(peer); }

  void Send(Message message) override {
    CHECK_LE(message.head.size(), kHeadBytesMax);
    if (closed_) return;
    const int64_t bytes = MessageWriter::BytesOf(message);
    if (queued_.fetch_add(bytes) + bytes > kQueuedMax.count()) {
      return EndWith(absl::ResourceExhaustedError(
          base::StrCat("more than ", base::ToString(kQueuedMax),
                       " are queued on a channel: the sender keeps no credits")));
    }
    worker_->Post([self = shared_from_this(), message = std::move(message), bytes] {
      self->queued_ -= bytes;
      ++self->sent_messages_;
      self->sent_bytes_ += bytes;
      if (self->peer_ != nullptr) self->peer_->Receive(message);
    });
  }

  base::Bytes queued() const override { return base::Bytes(queued_); }

  ChannelStats stats() const override {
    return {.messages = sent_messages_,
            .bytes = sent_bytes_,
            .wire_bytes = sent_bytes_,
            .reason = "both ends are in one process"};
  }

  void Close() override { EndWith(absl::OkStatus()); }

  void EndWith(absl::Status why) {
    if (closed_.exchange(true)) return;
    worker_->Post(
        [self = shared_from_this(), why = std::move(why)] { self->Finish(why); });
  }

 private:
  void Receive(const Message& message) {
    if (finished_ || closed_) return;
    absl::StatusOr<core::Buffer> payload = Copied(message, events_);
    if (!payload.ok()) return Finish(payload.status());
    events_.on_message({.head = message.head, .payload = *std::move(payload)});
  }

  // Tells this side, and the other that it was this one.
  void Finish(const absl::Status& why) {
    closed_ = true;
    if (std::exchange(finished_, true)) return;
    const ChannelEvents events = std::exchange(events_, {});
    events.on_closed(why);
    const std::shared_ptr<End> peer = std::exchange(peer_, nullptr);
    if (peer == nullptr) return;
    peer->Finish(why.code() == absl::StatusCode::kCancelled
                     ? why
                     : absl::UnavailableError(
                           base::StrCat("the other side closed the channel: ",
                                        why.ok() ? std::string_view("it is done")
                                                 : base::ToStd(why.message()))));
  }

  const std::shared_ptr<Worker> worker_;
  std::atomic<int64_t> queued_ = 0;
  std::atomic<int64_t> sent_messages_ = 0;
  std::atomic<int64_t> sent_bytes_ = 0;
  std::atomic<bool> closed_ = false;

  // These are of the worker's thread.
  bool finished_ = false;
  std::shared_ptr<End> peer_;  // Both ends live until they are finished.
  ChannelEvents events_;
};

void InProcess::Worker::Stop() {
  std::vector<std::weak_ptr<End>> ends;
  {
    const base::MutexLock lock(&mutex_);
    ends = std::exchange(ends_, {});
  }
  for (const std::weak_ptr<End>& weak : ends) {
    const std::shared_ptr<End> end = weak.lock();
    if (end != nullptr)
      end->EndWith(absl::CancelledError("the process ends its channels"));
  }
  {
    const base::MutexLock lock(&mutex_);
    stopped_ = true;
    changed_.NotifyOne();
  }
  thread_.join();
}

InProcess::InProcess() : worker_(std::make_shared<Worker>()) {}

InProcess::~InProcess() { worker_->Stop(); }

InProcess::Pair InProcess::Connect(ChannelEvents near, ChannelEvents far) {
  const auto first = std::make_shared<End>(worker_, std::move(near));
  const auto second = std::make_shared<End>(worker_, std::move(far));
  first->set_peer(second);
  second->set_peer(first);
  worker_->Remember(first);
  worker_->Remember(second);
  return {first, second};
}

}  // namespace millrace::transport
