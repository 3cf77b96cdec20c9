// A channel that a client is opening: connection, request to upgrade, answer; then it
// is a stream. Of its loop's thread.
#pragma once

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include <boost/asio/steady_timer.hpp>

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/connecting.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/pending_call.h"
#include "millrace/adapters/http/stream.h"

namespace millrace::http {

class Opening : public std::enable_shared_from_this<Opening> {
 public:
  Opening(std::shared_ptr<CallResources> resources, ChannelCall call,
          std::shared_ptr<Stream> stream);

  // Begins; the stream is started in the end, or ended with an error.
  void Start();

 private:
  void Ask(std::shared_ptr<Link> link);
  void ReadAnswer();
  void OnRead(const absl::Status& status);
  void OnAnswer();
  void Fail(const absl::Status& error);

  const std::shared_ptr<CallResources> resources_;
  const ChannelCall call_;
  const std::shared_ptr<Stream> stream_;
  std::shared_ptr<Link> link_;
  std::optional<ResponseParser> parser_;
};

}  // namespace millrace::http
