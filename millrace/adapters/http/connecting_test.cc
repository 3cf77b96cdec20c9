#include "millrace/adapters/http/connecting.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/raw_socket_test.h"
#include "millrace/adapters/http/result_test.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

using Connected = absl::StatusOr<std::shared_ptr<Link>>;

class ConnectingTest : public testing::Test {
 protected:
  ~ConnectingTest() override { loop_->Stop(); }

  // Connects, closes what came of it, and says how it went.
  absl::Status Connect(const Address& address, std::shared_ptr<Tls> tls = nullptr,
                       absl::Duration within = absl::Seconds(30)) {
    Result<absl::Status> result;
    loop_->Post([&, tls = std::move(tls)]() mutable {
      const auto connecting =
          std::make_shared<Connecting>(loop_, address, std::move(tls));
      connecting->Start(within, [&](const Connected& link) {
        if (link.ok()) (*link)->Close(absl::CancelledError("done"));
        result.Set(link.status());
      });
    });
    return result.Wait();
  }

  const std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
};

TEST_F(ConnectingTest, FindsServersByAddressAndName) {
  const RawServer server([](const RawSocket&, int) {});
  EXPECT_THAT(Connect({"127.0.0.1", server.port()}), IsOk());
  EXPECT_THAT(Connect({"localhost", server.port()}), IsOk());
}

TEST_F(ConnectingTest, NamesWhatCannotBeReached) {
  int port = 0;
  {
    const RawServer server([](const RawSocket&, int) {});
    port = server.port();
  }
  EXPECT_THAT(Connect({"127.0.0.1", port}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(base::StrCat("127.0.0.1:", port)),
                             HasSubstr("refused"))));
  EXPECT_THAT(
      Connect({"no.such.host.invalid", 1}),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no.such.host.invalid:1")));
}

TEST_F(ConnectingTest, AServerThatSaysNothingIsGivenUp) {
  const auto tls = Tls::ForClient({}).value();
  const RawServer server([](const RawSocket& socket, int) { socket.ReadAll(); });
  EXPECT_THAT(Connect({"127.0.0.1", server.port()}, tls, absl::Milliseconds(100)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("within 100ms")));
}

TEST_F(ConnectingTest, AServerThatSpeaksNoTlsIsToldApart) {
  const auto tls = Tls::ForClient({}).value();
  const RawServer server([](const RawSocket& socket, int) {
    socket.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
    socket.ReadAll();
  });
  EXPECT_THAT(Connect({"127.0.0.1", server.port()}, tls),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("TLS failed")));
}

TEST_F(ConnectingTest, WhatIsCancelledIsNotTold) {
  const RawServer server([](const RawSocket& socket, int) { socket.ReadAll(); });
  for (const char* const host : {"127.0.0.1", "localhost"}) {
    Result<bool> cancelled;
    loop_->Post([&] {
      const auto connecting =
          std::make_shared<Connecting>(loop_, Address{host, server.port()}, nullptr);
      connecting->Start(absl::Seconds(30),
                        [](const Connected&) { FAIL() << "it was cancelled"; });
      connecting->Cancel();
      cancelled.Set(true);
    });
    EXPECT_TRUE(cancelled.Wait());
  }
}

}  // namespace
}  // namespace millrace::http
