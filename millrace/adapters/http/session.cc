#include "millrace/adapters/http/session.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/parser.hpp>

#include "millrace/adapters/http/access.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/socket.h"
#include "millrace/adapters/http/stream.h"
#include "millrace/adapters/http/stream_set.h"
#include "millrace/adapters/http/upgrade.h"
#include "millrace/base/bytes.h"
#include "millrace/base/clock.h"
#include "millrace/base/text.h"
#include "millrace/transport/channel.h"

namespace millrace::http {
namespace {

namespace beast_http = boost::beast::http;

// How long a connection stays after a refusal, so that the client can read it.
constexpr absl::Duration kLinger = absl::Seconds(1);

AccessRules RulesOf(const ServerOptions& options) {
  return {.token = options.token,
          .allowed_hosts = options.allowed_hosts,
          .allowed_origins = options.allowed_origins,
          .uses_tls = options.tls.has_value()};
}

Request HeadOf(const beast_http::request_header<>& head, std::string peer) {
  Request request;
  request.method = std::string_view(head.method_string());
  const std::string_view target = head.target();
  const size_t mark = std::min(target.find('?'), target.size());
  request.path = target.substr(0, mark);
  request.query = target.substr(std::min(mark + 1, target.size()));
  for (const auto& field : head) {
    request.headers.push_back({std::string(std::string_view(field.name_string())),
                               std::string(std::string_view(field.value()))});
  }
  request.peer = std::move(peer);
  return request;
}

// What the client is willing to wait, and no more than the server is.
absl::Duration AnswerWithin(const Request& request, absl::Duration most) {
  int64_t milliseconds = 0;
  const std::string_view text = Find(request.headers, kDeadlineHeader);
  if (!absl::SimpleAtoi(base::ToAbsl(text), &milliseconds) || milliseconds < 0) {
    return most;
  }
  return std::min(most, absl::Milliseconds(milliseconds));
}

}  // namespace

Service::Service(ServerOptions given, Router routes)
    : options(std::move(given)),
      router(std::move(routes)),
      access(RulesOf(options)),
      connections(options.connections_max),
      streams(std::make_shared<StreamSet>(options.channels_max)),
      stream_loops(options.stream_threads) {}

Session::Session(std::shared_ptr<Service> service, std::shared_ptr<Loop> loop,
                 Socket socket)
    : service_(std::move(service)),
      loop_(std::move(loop)),
      link_(std::make_shared<Link>(std::move(socket))),
      answer_timer_(loop_->context()) {}

void Session::Start() {
  place_ = service_->connections.Add([weak = weak_from_this(), loop = loop_] {
    loop->Post([weak] {
      if (const std::shared_ptr<Session> session = weak.lock()) session->Close();
    });
  });
  if (!place_) return TurnAway();
  link_->SetDeadline(service_->options.read_within,
                     absl::DeadlineExceededError("no TLS handshake in time"));
  link_->Handshake([self = shared_from_this()](const absl::Status& status) {
    if (!status.ok()) return self->End();
    self->NextRequest();
  });
}

// Costs one write at most, whether or not it is read.
void Session::TurnAway() {
  const std::string bytes =
      ToBytes(ErrorResponse(absl::UnavailableError(
                  "the server has no connection left, or is stopping: retry")),
              /*keeps_connection=*/false);
  const iovec piece = {const_cast<char*>(bytes.data()), bytes.size()};
  if (!service_->access.uses_tls) (void)link_->socket().Write({&piece, 1});
  End();
}

void Session::NextRequest() {
  if (stopping_) return End();
  const ServerOptions& options = service_->options;
  state_ = State::kIdle;
  head_checked_ = false;
  route_ = nullptr;
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(options.header_max.count()));
  parser_->body_limit(static_cast<uint64_t>(options.body_max.count()));
  parser_->eager(false);  // The head is checked before a body is read.
  if (place_) service_->connections.SetAtWork(*place_, false);
  if (!link_->input().empty()) return Parse();
  link_->SetDeadline(options.idle_max, absl::DeadlineExceededError("no request came"));
  ReadMore();
}

void Session::ReadMore() {
  if (std::exchange(reading_, true)) return;
  link_->Read([self = shared_from_this()](const absl::Status& status) {
    self->reading_ = false;
    self->OnRead(status);
  });
}

void Session::OnRead(const absl::Status& status) {
  if (!status.ok()) return End();
  // While a request is worked on, what comes waits for its turn.
  if (state_ == State::kIdle || state_ == State::kReading) Parse();
}

void Session::Parse() {
  if (state_ == State::kIdle) {  // All of a request has one deadline, however it drips.
    state_ = State::kReading;
    link_->SetDeadline(service_->options.read_within,
                       absl::DeadlineExceededError("the request took too long"));
  }
  std::string& input = link_->input();
  while (!input.empty()) {
    boost::system::error_code error;
    const size_t used = parser_->put(boost::asio::buffer(input), error);
    input.erase(0, used);
    if (error == beast_http::error::need_more) break;
    if (error) return RefuseUnreadable(error);
    if (!std::exchange(head_checked_, true) && !CheckHead()) return;
    if (parser_->is_done()) return Dispatch();
  }
  ReadMore();
}

void Session::RefuseUnreadable(const boost::system::error_code& error) {
  if (error == beast_http::error::body_limit) {
    return Refuse(absl::ResourceExhaustedError(
                      base::StrCat("a request's body has at most ",
                                   base::ToString(service_->options.body_max))),
                  413);
  }
  if (error == beast_http::error::header_limit) {
    return Refuse(absl::ResourceExhaustedError(
                      base::StrCat("a request's header has at most ",
                                   base::ToString(service_->options.header_max))),
                  431);
  }
  Refuse(absl::InvalidArgumentError(
      base::StrCat("this is no HTTP request: ", error.message())));
}

// Gives false where the request was refused.
bool Session::CheckHead() {
  request_ = HeadOf(parser_->get().base(), link_->socket().peer());
  route_ = service_->router.Find(request_.method, request_.path);
  const bool open_to_all = route_ != nullptr && route_->open_to_all;
  const std::optional<Refusal> refusal =
      CheckAccess(service_->access, request_, open_to_all);
  if (refusal) {
    Refuse(refusal->error, refusal->http_code);
    return false;
  }
  if (route_ != nullptr) return true;
  if (service_->router.HasPath(request_.path)) {
    Refuse(absl::UnimplementedError(
               base::StrCat(request_.path, " has no method ", request_.method)),
           405);
  } else {
    Refuse(absl::NotFoundError(base::StrCat("there is no ", request_.path)));
  }
  return false;
}

void Session::Dispatch() {
  request_.body = std::move(parser_->get().body());
  if (place_) service_->connections.SetAtWork(*place_, true);
  if (route_->channel != nullptr) return Upgrade(route_->channel);
  CallHandler(route_->handler);
}

void Session::CallHandler(const Handler& handler) {
  state_ = State::kWorking;
  link_->ClearDeadline();
  const int64_t number = ++number_;
  const absl::Duration within = AnswerWithin(request_, service_->options.answer_within);
  request_.deadline = base::RealClock().Now() + within;
  answer_timer_.expires_after(absl::ToChronoNanoseconds(within));
  answer_timer_.async_wait(
      [self = shared_from_this(), number](const boost::system::error_code& error) {
        if (error) return;
        self->Answer(number, ErrorResponse(absl::DeadlineExceededError(
                                 "the server had no answer in time")));
      });
  // Whether the client is still there shows by reading.
  if (link_->input().empty()) ReadMore();
  handler(std::move(request_),
          Responder([weak = weak_from_this(), loop = loop_, number](Response response) {
            loop->Post([weak, number, response = std::move(response)] {
              const std::shared_ptr<Session> self = weak.lock();
              if (self != nullptr) self->Answer(number, response);
            });
          }));
}

void Session::Answer(int64_t number, const Response& response) {
  if (number != number_ || state_ != State::kWorking) return;
  answer_timer_.cancel();
  Respond(response, parser_->keep_alive() && !stopping_);
}

void Session::Refuse(const absl::Status& error, int http_code) {
  Respond(ErrorResponse(error, http_code), /*keeps_connection=*/false);
}

void Session::Respond(const Response& response, bool keeps_connection) {
  service_->counts.Add(route_, response.code);
  state_ = State::kWriting;
  link_->SetDeadline(service_->options.read_within,
                     absl::DeadlineExceededError("the answer was not taken"));
  link_->Write(
      ToBytes(response, keeps_connection),
      [self = shared_from_this(), keeps_connection](const absl::Status& status) {
        if (!status.ok()) return self->End();
        keeps_connection ? self->NextRequest() : self->Linger();
      });
}

// Closing at once would take back what the client has not read yet.
void Session::Linger() {
  if (state_ != State::kEnded) {
    state_ = State::kEnded;
    link_->socket().EndWriting();
    link_->SetDeadline(kLinger, absl::DeadlineExceededError("the client stays"));
  }
  link_->input().clear();
  if (reading_) return End();
  link_->Read([self = shared_from_this()](const absl::Status& status) {
    status.ok() ? self->Linger() : self->End();
  });
}

void Session::Upgrade(const ChannelHandler& handler) {
  if (!OffersStream(Find(request_.headers, "Upgrade"))) {
    Response response = ErrorResponse(
        absl::UnimplementedError(base::StrCat(
            request_.path, " is a channel: ask for 'Upgrade: ", kStreamProtocol, "'")),
        426);
    response.headers.push_back({"Upgrade", std::string(kStreamProtocol)});
    return Respond(response, /*keeps_connection=*/false);
  }
  const auto stream =
      std::make_shared<Stream>(service_->stream_loops.Next(), service_->options.stream);
  stream->set_codecs(UnpackedBy(request_.headers));
  if (!service_->streams->Add(stream)) {
    return Refuse(absl::UnavailableError("the server has no channel left: retry"));
  }
  absl::StatusOr<transport::ChannelEvents> events = handler(request_, stream);
  // Others may know the channel already, and use it.
  stream->loop()->Post([stream, events = events.value_or(transport::ChannelEvents())] {
    stream->SetEvents(events);
  });
  if (!events.ok()) {
    stream->End(events.status());
    return Refuse(events.status());
  }
  service_->counts.Add(route_, UpgradeResponse().code);
  state_ = State::kWriting;
  link_->SetDeadline(service_->options.read_within,
                     absl::DeadlineExceededError("the answer was not taken"));
  link_->Write(ToBytes(UpgradeResponse(), true),
               [self = shared_from_this(), stream](const absl::Status& status) {
                 if (status.ok()) return self->HandOver(stream);
                 stream->End(status);
                 self->End();
               });
}

void Session::HandOver(const std::shared_ptr<Stream>& stream) {
  if (!link_->open()) {  // The server was stopped meanwhile.
    stream->End(absl::UnavailableError("the connection was closed"));
    return End();
  }
  std::string input = std::move(link_->input());
  absl::StatusOr<Socket> socket = link_->TakeSocket().MovedTo(stream->loop());
  End();
  if (!socket.ok()) return stream->End(socket.status());
  stream->loop()->Post(
      [stream, socket = *std::move(socket), input = std::move(input)]() mutable {
        stream->Start(std::move(socket), input);
      });
}

// The server stops, or needs the place: who waits for an answer is told.
void Session::Close() {
  stopping_ = true;
  if (state_ == State::kWorking) {
    return Answer(number_, ErrorResponse(absl::UnavailableError(
                               "the server is stopping: retry, or ask another")));
  }
  if (state_ != State::kWriting) End();
}

void Session::End() {
  state_ = State::kEnded;
  answer_timer_.cancel();
  link_->Close(absl::CancelledError("the connection was closed"));
  if (place_) service_->connections.Remove(*std::exchange(place_, std::nullopt));
}

}  // namespace millrace::http
