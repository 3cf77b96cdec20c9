#include "millrace/adapters/http/client.h"

#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/idle_links.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/opening.h"
#include "millrace/adapters/http/pending_call.h"
#include "millrace/adapters/http/stream.h"
#include "millrace/adapters/http/stream_set.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/transport/channel.h"

namespace millrace::http {
namespace {

// A call ends by its own deadline; this is for a thread that has no turn.
constexpr absl::Duration kGrace = absl::Seconds(60);

// What a waiting thread is handed its answer in.
class Answer {
 public:
  void Set(absl::StatusOr<Response> result) {
    const base::MutexLock lock(&mutex_);
    result_ = std::move(result);
    changed_.NotifyAll();
  }

  absl::StatusOr<Response> Wait(absl::Duration within) {
    const absl::Time deadline = base::RealClock().Now() + within;
    const base::MutexLock lock(&mutex_);
    while (!result_) {
      if (!changed_.WaitUntil(&mutex_, deadline)) {
        return absl::DeadlineExceededError("the client's threads are stuck");
      }
    }
    return *std::move(result_);
  }

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  std::optional<absl::StatusOr<Response>> result_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

class Client::State : public std::enable_shared_from_this<State> {
 public:
  State(const ClientOptions& options, std::shared_ptr<Tls> tls)
      : resources_(std::make_shared<CallResources>(options, std::move(tls))),
        streams_(std::make_shared<StreamSet>(options.channels_max)),
        request_loops_(options.request_threads),
        stream_loops_(options.stream_threads) {}

  CallId Start(Call call, CallDone done) {
    const std::shared_ptr<Loop> loop = request_loops_.Next();
    const auto id = static_cast<CallId>(++last_id_);
    const auto pending = std::make_shared<PendingCall>(
        resources_, loop, std::move(call),
        [self = shared_from_this(), id,
         done = std::move(done)](absl::StatusOr<Response> result) {
          self->Forget(id);
          done(std::move(result));
        });
    if (Remember(id, pending)) {
      loop->Post([pending] { pending->Start(); });
    } else {
      pending->Refuse();
    }
    return id;
  }

  void Cancel(CallId id) {
    const base::MutexLock lock(&mutex_);
    const auto call = calls_.find(id);
    if (call != calls_.end()) call->second->Cancel();
  }

  std::shared_ptr<transport::Channel> OpenChannel(ChannelCall call,
                                                  transport::ChannelEvents events) {
    const auto stream =
        std::make_shared<Stream>(stream_loops_.Next(), resources_->options.stream);
    stream->SetEvents(std::move(events));
    if (!streams_->Add(stream)) {
      stream->End(absl::ResourceExhaustedError(
          "the client has no channel left, or was stopped: close some"));
      return stream;
    }
    const auto opening = std::make_shared<Opening>(resources_, std::move(call), stream);
    stream->loop()->Post([opening] { opening->Start(); });
    return stream;
  }

  void Stop() {
    {
      const base::MutexLock lock(&mutex_);
      stopped_ = true;
      for (const auto& [id, call] : calls_) call->Cancel();
    }
    resources_->idle.CloseAll();
    request_loops_.Stop();
    streams_->CloseAll();
    stream_loops_.Stop();
  }

 private:
  bool Remember(CallId id, const std::shared_ptr<PendingCall>& call) {
    const base::MutexLock lock(&mutex_);
    if (stopped_ || std::ssize(calls_) >= resources_->options.calls_max) return false;
    calls_.emplace(id, call);
    return true;
  }

  void Forget(CallId id) {
    const base::MutexLock lock(&mutex_);
    calls_.erase(id);
  }

  const std::shared_ptr<CallResources> resources_;
  const std::shared_ptr<StreamSet> streams_;
  Loops request_loops_;
  Loops stream_loops_;
  std::atomic<int64_t> last_id_ = 0;
  base::Mutex mutex_;
  absl::flat_hash_map<CallId, std::shared_ptr<PendingCall>> calls_
      ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<Client>> Client::Make(const ClientOptions& options) {
  std::shared_ptr<Tls> tls;
  if (options.tls) tls = TRY(Tls::ForClient(*options.tls));
  std::shared_ptr<State> state = TRY(MakeWithLoops<State>(options, std::move(tls)));
  return std::unique_ptr<Client>(new Client(std::move(state)));
}

Client::Client(std::shared_ptr<State> state) : state_(std::move(state)) {}

Client::~Client() { state_->Stop(); }

CallId Client::Start(Call call, CallDone done) {
  return state_->Start(std::move(call), std::move(done));
}

void Client::Cancel(CallId id) { state_->Cancel(id); }

absl::StatusOr<Response> Client::CallAndWait(Call call, const std::stop_token& stop) {
  const auto answer = std::make_shared<Answer>();
  const absl::Duration within = call.within + kGrace;
  const CallId id = Start(std::move(call), [answer](absl::StatusOr<Response> result) {
    answer->Set(std::move(result));
  });
  const std::stop_callback cancel(stop, [&] { Cancel(id); });
  return answer->Wait(within);
}

std::shared_ptr<transport::Channel> Client::OpenChannel(
    ChannelCall call, transport::ChannelEvents events) {
  return state_->OpenChannel(std::move(call), std::move(events));
}

}  // namespace millrace::http
