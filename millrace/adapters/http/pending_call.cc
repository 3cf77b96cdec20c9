#include "millrace/adapters/http/pending_call.h"

#include <openssl/rand.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/fields.hpp>

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/connecting.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

using ErrorCode = boost::system::error_code;

constexpr int kDoublingsMax = 20;

base::Hash128 RandomBits() {
  base::Hash128 bits;
  CHECK_EQ(RAND_bytes(reinterpret_cast<uint8_t*>(&bits), sizeof(bits)), 1);
  return bits;
}

// Waiting times of many clients must not fall together: each is drawn.
absl::Duration Pause(const ClientOptions& options, int attempts,
                     base::Generator& generator) {
  const double factor = std::exp2(std::min(attempts - 1, kDoublingsMax));
  const absl::Duration longest =
      std::min(options.retry_after * factor, options.retry_after_max);
  return longest * generator.Uniform(0.5, 1.0);
}

}  // namespace

Response ResponseOf(ResponseParser& parser) {
  Response response;
  response.code = static_cast<int>(parser.get().result_int());
  response.body = std::move(parser.get().body());
  response.content_type.clear();
  for (const auto& field : parser.get().base()) {
    response.headers.push_back({std::string(std::string_view(field.name_string())),
                                std::string(std::string_view(field.value()))});
  }
  response.content_type = std::string(Find(response.headers, "Content-Type"));
  return response;
}

PendingCall::PendingCall(std::shared_ptr<CallResources> resources,
                         std::shared_ptr<Loop> loop, Call call, CallDone done)
    : resources_(std::move(resources)),
      loop_(std::move(loop)),
      call_(std::move(call)),
      done_(std::move(done)),
      generator_(base::RandomKey(0, 0, 0), RandomBits()),
      deadline_timer_(loop_->context()),
      retry_timer_(loop_->context()) {
  id_ = absl::StrFormat("%016x%016x", generator_.Next64(), generator_.Next64());
}

void PendingCall::Start() {
  if (done_ == nullptr) return;
  deadline_ = base::RealClock().Monotonic() + call_.within;
  deadline_timer_.expires_after(absl::ToChronoNanoseconds(call_.within));
  deadline_timer_.async_wait([self = shared_from_this()](const ErrorCode& cancelled) {
    if (!cancelled) self->OnDeadline();
  });
  Attempt();
}

void PendingCall::Cancel() {
  loop_->Post([self = shared_from_this()] {
    self->Finish(absl::CancelledError(
        base::StrCat("the call of ", self->call_.path, " was cancelled")));
  });
}

void PendingCall::Refuse() {
  loop_->Post([self = shared_from_this()] {
    self->Finish(absl::ResourceExhaustedError(
        "the client has too many calls under way, or was stopped: wait for some"));
  });
}

absl::Duration PendingCall::TimeLeft() const {
  return deadline_ - base::RealClock().Monotonic();
}

void PendingCall::Attempt() {
  if (done_ == nullptr) return;
  ++attempts_;
  std::shared_ptr<Link> idle = resources_->idle.Take(*loop_, call_.address);
  link_is_new_ = idle == nullptr;
  if (idle != nullptr) return Ask(std::move(idle));
  connecting_ = std::make_shared<Connecting>(loop_, call_.address, resources_->tls);
  connecting_->Start(
      resources_->options.connect_within,
      [self = shared_from_this()](absl::StatusOr<std::shared_ptr<Link>> link) {
        self->connecting_ = nullptr;
        if (!link.ok()) return self->Retry(link.status());
        self->Ask(*std::move(link));
      });
}

Request PendingCall::MakeRequest() const {
  Request request;
  request.method = call_.method;
  request.path = call_.path;
  request.query = call_.query;
  request.headers = call_.headers;
  request.body = call_.body;
  request.headers.push_back({std::string(kRequestIdHeader), id_});
  const int64_t left = std::max<int64_t>(1, absl::ToInt64Milliseconds(TimeLeft()));
  request.headers.push_back({std::string(kDeadlineHeader), std::to_string(left)});
  const std::string& token = resources_->options.token;
  if (!token.empty()) {
    request.headers.push_back({"Authorization", base::StrCat("Bearer ", token)});
  }
  return request;
}

void PendingCall::Ask(std::shared_ptr<Link> link) {
  link_ = std::move(link);
  parser_.emplace();
  parser_->body_limit(static_cast<uint64_t>(resources_->options.answer_max.count()));
  parser_->eager(true);
  link_->Write(ToBytes(MakeRequest(), call_.address),
               [self = shared_from_this()](const absl::Status& status) {
                 if (!status.ok()) return self->Retry(status);
                 self->ReadAnswer();
               });
}

void PendingCall::ReadAnswer() {
  if (done_ == nullptr) return;
  link_->Read([self = shared_from_this()](const absl::Status& status) {
    self->OnRead(status);
  });
}

void PendingCall::OnRead(const absl::Status& status) {
  if (done_ == nullptr) return;
  if (status.ok()) return Parse();
  if (parser_->is_header_done() && parser_->need_eof()) {  // The end ends the body.
    ErrorCode error;
    parser_->put_eof(error);
    if (!error) return OnAnswer();
  }
  Retry(status);
}

void PendingCall::Parse() {
  ErrorCode error;
  std::string& input = link_->input();
  const size_t used = parser_->put(boost::asio::buffer(input), error);
  input.erase(0, used);
  if (error && error != boost::beast::http::error::need_more) {
    return Finish(absl::DataLossError(base::StrCat(ToString(call_.address),
                                                   " gave no readable answer to ",
                                                   call_.path, ": ", error.message())));
  }
  parser_->is_done() ? OnAnswer() : ReadAnswer();
}

void PendingCall::OnAnswer() {
  const bool keeps = parser_->keep_alive() && link_->input().empty();
  Response response = ResponseOf(*parser_);
  if (keeps) resources_->idle.Put(call_.address, std::exchange(link_, nullptr));
  const absl::Status status = StatusOf(response);
  if (response.code == HttpCodeOf(absl::StatusCode::kUnavailable)) return Retry(status);
  if (!status.ok()) return Finish(status);
  Finish(std::move(response));
}

void PendingCall::Retry(absl::Status error) {
  if (done_ == nullptr) return;
  if (error.code() != absl::StatusCode::kUnavailable) {
    error = absl::UnavailableError(error.message());
  }
  const bool was_stale = link_ != nullptr && !link_is_new_ && !parser_->got_some();
  if (link_ != nullptr) std::exchange(link_, nullptr)->Close(error);
  if (was_stale) {  // The server closed it while it was idle: no failure yet.
    --attempts_;
    return Attempt();
  }
  last_error_ = std::move(error);
  const absl::Duration pause = Pause(resources_->options, attempts_, generator_);
  if (attempts_ >= call_.attempts_max || pause >= TimeLeft()) {
    return Finish(last_error_);
  }
  retry_timer_.expires_after(absl::ToChronoNanoseconds(pause));
  retry_timer_.async_wait([self = shared_from_this()](const ErrorCode& cancelled) {
    if (!cancelled) self->Attempt();
  });
}

void PendingCall::OnDeadline() {
  if (link_ == nullptr && !last_error_.ok()) return Finish(last_error_);
  const std::string within = absl::FormatDuration(call_.within);
  if (link_ == nullptr) {
    return Finish(absl::UnavailableError(base::StrCat(
        "cannot connect to ", ToString(call_.address), ": no answer within ", within)));
  }
  Finish(absl::DeadlineExceededError(base::StrCat(
      ToString(call_.address), " did not answer ", call_.path, " within ", within)));
}

void PendingCall::Finish(absl::StatusOr<Response> result) {
  if (done_ == nullptr) return;
  const CallDone done = std::exchange(done_, nullptr);
  deadline_timer_.cancel();
  retry_timer_.cancel();
  if (connecting_ != nullptr) std::exchange(connecting_, nullptr)->Cancel();
  if (link_ != nullptr) {
    std::exchange(link_, nullptr)->Close(absl::CancelledError("the call is over"));
  }
  done(std::move(result));
}

}  // namespace millrace::http
