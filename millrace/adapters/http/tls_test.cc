#include "millrace/adapters/http/tls.h"

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/certificates_test.h"
#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/raw_socket_test.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/service_test.h"
#include "millrace/base/status_matchers.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/payloads_test.h"
#include "millrace/transport/recorder_test.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

absl::Status CallOnce(Client& client, const Address& address) {
  return client.CallAndWait({.address = address, .path = "/echo", .attempts_max = 1})
      .status();
}

TEST(TlsTest, RequestsAndChannelsAreProtected) {
  const Certificates certificates("protected");
  const auto server = StartServer({.token = "secret", .tls = certificates.Own()});
  const auto client = MakeClient({.token = "secret", .tls = certificates.Authority()});
  EXPECT_THAT(CallOnce(*client, AddressOf(*server)), IsOk());
  EXPECT_THAT(CallOnce(*client, {"localhost", server->port()}), IsOk());

  transport::Recorder recorder;
  const auto channel = client->OpenChannel(
      {.address = AddressOf(*server), .path = "/stream"}, recorder.Events());
  const frames::Frame frame = transport::RandomFrame(5'000'000, 1);
  for (int i = 0; i < 3; ++i) channel->Send({.head = "x", .payload = frame});
  const auto received = recorder.Wait(3);
  ASSERT_EQ(received.size(), 3);
  EXPECT_TRUE(received[2].payload.text() == transport::BytesOf(frame));
  channel->Close();
  EXPECT_THAT(recorder.WaitClosed(), IsOk());
}

TEST(TlsTest, OthersThanLoopbackMayBeServed) {
  const Certificates certificates("others");
  EXPECT_THAT(Server::Start({.host = "0.0.0.0", .tls = certificates.Own()}, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(
      Server::Start({.host = "0.0.0.0", .token = "secret", .tls = certificates.Own()},
                    {}),
      IsOk());
}

TEST(TlsTest, AServerThatNobodySignedIsNotTrusted) {
  const Certificates certificates("server");
  const Certificates others("stranger");
  const auto server = StartServer({.tls = certificates.Own()});
  const auto client = MakeClient({.tls = others.Authority()});
  EXPECT_THAT(CallOnce(*client, AddressOf(*server)),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("127.0.0.1:"), HasSubstr("certificate"))));
  const auto by_system = MakeClient({.tls = TlsOptions{}});
  EXPECT_THAT(CallOnce(*by_system, AddressOf(*server)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("certificate")));
}

TEST(TlsTest, TheNameMustBeInTheCertificate) {
  const Certificates certificates("names");
  const auto server = StartServer({.host = "127.0.0.2", .tls = certificates.Own()});
  const auto client = MakeClient({.tls = certificates.Authority()});
  EXPECT_THAT(
      CallOnce(*client, {"127.0.0.2", server->port()}),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("IP address mismatch")));
}

TEST(TlsTest, MutualTlsTakesOnlyKnownClients) {
  const Certificates certificates("mutual");
  const Certificates others("unknown");
  const auto server = StartServer({.tls = certificates.Both()});
  EXPECT_THAT(CallOnce(*MakeClient({.tls = certificates.Both()}), AddressOf(*server)),
              IsOk());
  EXPECT_THAT(
      CallOnce(*MakeClient({.tls = certificates.Authority()}), AddressOf(*server)),
      StatusIs(absl::StatusCode::kUnavailable));
  TlsOptions stranger = others.Own();
  stranger.ca_file = certificates.File("ca.pem");
  EXPECT_THAT(CallOnce(*MakeClient({.tls = stranger}), AddressOf(*server)),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST(TlsTest, PlainAndProtectedDoNotMix) {
  const Certificates certificates("mixed");
  const auto server = StartServer({.tls = certificates.Own()});
  EXPECT_THAT(CallOnce(*MakeClient(), AddressOf(*server)), testing::Not(IsOk()));
  const RawSocket socket(server->port());
  socket.Send("GET /echo HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_THAT(socket.ReadAll(), testing::Not(HasSubstr("200")));
  const auto plain = StartServer();
  EXPECT_THAT(
      CallOnce(*MakeClient({.tls = certificates.Authority()}), AddressOf(*plain)),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("TLS")));
}

// A client that begins TLS and then says nothing costs a place, for a while.
TEST(TlsTest, AHandshakeHasADeadline) {
  const Certificates certificates("slow");
  const auto server =
      StartServer({.tls = certificates.Own(), .read_within = absl::Milliseconds(100)});
  const RawSocket socket(server->port());
  EXPECT_EQ(socket.ReadAll(), "");
}

TEST(TlsTest, ErrorsNameTheFile) {
  const Certificates certificates("files");
  TlsOptions options = certificates.Own();
  options.certificate_file = certificates.File("none.pem");
  EXPECT_THAT(Server::Start({.tls = options}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("none.pem")));
  options = certificates.Own();
  options.key_file = certificates.File("ca.key");
  EXPECT_THAT(Server::Start({.tls = options}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ca.key")));
  std::ofstream(certificates.File("bad.pem")) << "no certificate";
  options = certificates.Authority();
  options.ca_file = certificates.File("bad.pem");
  EXPECT_THAT(Client::Make({.tls = options}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bad.pem")));
  EXPECT_THAT(Server::Start({.tls = TlsOptions{}}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("both files")));
}

}  // namespace
}  // namespace millrace::http
