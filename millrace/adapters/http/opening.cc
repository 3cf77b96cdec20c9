#include "millrace/adapters/http/opening.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/connecting.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/pending_call.h"
#include "millrace/adapters/http/stream.h"
#include "millrace/adapters/http/upgrade.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

constexpr int kSwitchingProtocols = 101;

Request UpgradeRequest(const ChannelCall& call, const std::string& token) {
  Request request;
  request.method = "GET";
  request.path = call.path;
  request.query = call.query;
  request.headers = call.headers;
  request.headers.push_back({"Connection", "Upgrade"});
  request.headers.push_back({"Upgrade", std::string(kStreamProtocol)});
  request.headers.push_back(UnpacksHeader());
  if (!token.empty()) {
    request.headers.push_back({"Authorization", base::StrCat("Bearer ", token)});
  }
  return request;
}

}  // namespace

Opening::Opening(std::shared_ptr<CallResources> resources, ChannelCall call,
                 std::shared_ptr<Stream> stream)
    : resources_(std::move(resources)),
      call_(std::move(call)),
      stream_(std::move(stream)) {}

void Opening::Start() {
  if (stream_->finished()) return;
  const auto connecting =
      std::make_shared<Connecting>(stream_->loop(), call_.address, resources_->tls);
  stream_->set_on_finish([weak = std::weak_ptr(connecting), self = weak_from_this()] {
    if (const std::shared_ptr<Connecting> begun = weak.lock()) begun->Cancel();
    const std::shared_ptr<Opening> opening = self.lock();
    if (opening != nullptr && opening->link_ != nullptr) {
      opening->link_->Close(absl::CancelledError("the channel was closed"));
    }
  });
  connecting->Start(call_.within, [self = shared_from_this()](
                                      absl::StatusOr<std::shared_ptr<Link>> link) {
    if (!link.ok()) return self->Fail(link.status());
    self->Ask(*std::move(link));
  });
}

void Opening::Ask(std::shared_ptr<Link> link) {
  link_ = std::move(link);
  link_->SetDeadline(call_.within,
                     absl::UnavailableError(base::StrCat(
                         ToString(call_.address), " did not open a channel within ",
                         absl::FormatDuration(call_.within))));
  parser_.emplace();
  parser_->eager(true);
  const std::string bytes =
      ToBytes(UpgradeRequest(call_, resources_->options.token), call_.address);
  link_->Write(bytes, [self = shared_from_this()](const absl::Status& status) {
    if (!status.ok()) return self->Fail(status);
    self->ReadAnswer();
  });
}

void Opening::ReadAnswer() {
  link_->Read([self = shared_from_this()](const absl::Status& status) {
    self->OnRead(status);
  });
}

void Opening::OnRead(const absl::Status& status) {
  if (!status.ok()) return Fail(status);
  boost::system::error_code error;
  std::string& input = link_->input();
  const size_t used = parser_->put(boost::asio::buffer(input), error);
  input.erase(0, used);
  if (error && error != boost::beast::http::error::need_more) {
    return Fail(
        absl::DataLossError(base::StrCat("no readable answer: ", error.message())));
  }
  parser_->is_done() ? OnAnswer() : ReadAnswer();
}

void Opening::OnAnswer() {
  const Response response = ResponseOf(*parser_);
  if (response.code != kSwitchingProtocols) {
    const absl::Status status = StatusOf(response);
    return Fail(!status.ok() ? status
                             : absl::UnimplementedError("what is there is no channel"));
  }
  const std::string_view chosen = Find(response.headers, "Upgrade");
  if (!OffersStream(chosen)) {
    return Fail(absl::UnimplementedError(
        base::StrCat("it speaks '", chosen, "', not ", kStreamProtocol)));
  }
  if (!link_->open()) return Fail(absl::UnavailableError("the connection was closed"));
  const std::string input = std::move(link_->input());
  stream_->set_codecs(UnpackedBy(response.headers));
  stream_->Start(std::exchange(link_, nullptr)->TakeSocket(), input);
}

void Opening::Fail(const absl::Status& error) {
  if (link_ != nullptr) std::exchange(link_, nullptr)->Close(error);
  const absl::StatusCode code = error.code() == absl::StatusCode::kOutOfRange
                                    ? absl::StatusCode::kUnavailable
                                    : error.code();
  stream_->End(absl::Status(
      code, base::StrCat("no channel ", call_.path, " of ", ToString(call_.address),
                         ": ", base::ToStd(error.message()))));
}

}  // namespace millrace::http
