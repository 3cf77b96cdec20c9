#include "millrace/adapters/http/opening.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/raw_socket_test.h"
#include "millrace/adapters/http/service_test.h"
#include "millrace/base/status_matchers.h"
#include "millrace/codec/crc32c.h"
#include "millrace/transport/prefix.h"
#include "millrace/transport/recorder_test.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kUpgraded =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
    "Upgrade: millrace-stream/1\r\n\r\n";

// A message without payload, as bytes.
std::string MessageOf(std::string_view head) {
  return transport::WritePrefix({.head_bytes = static_cast<int64_t>(head.size()),
                                 .head_crc = codec::Crc32c(head)}) +
         std::string(head);
}

// Opens a channel to a server that answers with these bytes and ends; says why it was
// closed.
absl::Status ClosedBy(std::string answer) {
  const RawServer server([&](const RawSocket& socket, int) {
    socket.ReadUntil(kHeadEnd);
    socket.Send(answer);
  });
  const auto client = MakeClient();
  transport::Recorder recorder;
  client->OpenChannel({.address = {"127.0.0.1", server.port()}, .path = "/stream"},
                      recorder.Events());
  return recorder.WaitClosed();
}

TEST(OpeningTest, WhatIsNoChannelIsTold) {
  EXPECT_THAT(ClosedBy("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("no channel")));
  EXPECT_THAT(
      ClosedBy("HTTP/1.1 101 Switching Protocols\r\n"
               "Upgrade: millrace-stream/2\r\n\r\n"),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'millrace-stream/2'")));
  EXPECT_THAT(ClosedBy("garbage\r\n\r\n"),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("/stream"), HasSubstr("127.0.0.1:"))));
  EXPECT_THAT(ClosedBy(""), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(
      ClosedBy(std::string(kUpgraded)),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("closed the channel")));
}

// The first messages may come in one piece with the answer.
TEST(OpeningTest, NothingIsLostBehindTheAnswer) {
  const RawServer server([&](const RawSocket& socket, int) {
    socket.ReadUntil(kHeadEnd);
    socket.Send(std::string(kUpgraded) + MessageOf("first") + MessageOf("second") +
                MessageOf("third").substr(0, 10));
    socket.Send(MessageOf("third").substr(10));
    socket.ReadUntil("from the client");
  });
  const auto client = MakeClient();
  transport::Recorder recorder;
  const auto channel = client->OpenChannel(
      {.address = {"127.0.0.1", server.port()}, .path = "/stream"}, recorder.Events());
  channel->Send({.head = "from the client"});
  const auto received = recorder.Wait(3);
  ASSERT_EQ(received.size(), 3);
  EXPECT_EQ(received[0].head, "first");
  EXPECT_EQ(received[2].head, "third");
  EXPECT_THAT(recorder.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(OpeningTest, HasADeadline) {
  const RawServer server([&](const RawSocket& socket, int) { socket.ReadAll(); });
  const auto client = MakeClient();
  transport::Recorder recorder;
  client->OpenChannel({.address = {"127.0.0.1", server.port()},
                       .path = "/stream",
                       .within = absl::Milliseconds(100)},
                      recorder.Events());
  EXPECT_THAT(recorder.WaitClosed(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("within 100ms")));
}

TEST(OpeningTest, EndsWithTheClient) {
  const RawServer server([&](const RawSocket& socket, int) { socket.ReadAll(); });
  transport::Recorder recorder;
  {
    const auto client = MakeClient();
    client->OpenChannel({.address = {"127.0.0.1", server.port()}, .path = "/stream"},
                        recorder.Events());
  }
  EXPECT_THAT(recorder.WaitClosed(), IsOk());
}

TEST(OpeningTest, AsksAsTheFormatSays) {
  std::string asked;
  {
    const RawServer server(
        [&](const RawSocket& socket, int) { asked = socket.ReadUntil(kHeadEnd); });
    const auto client = MakeClient({.token = "secret"});
    transport::Recorder recorder;
    client->OpenChannel({.address = {"127.0.0.1", server.port()},
                         .path = "/stream",
                         .query = "lane=7",
                         .headers = {{"Own", "header"}}},
                        recorder.Events());
    EXPECT_THAT(recorder.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable));
  }
  EXPECT_THAT(asked,
              AllOf(HasSubstr("GET /stream?lane=7 HTTP/1.1\r\n"),
                    HasSubstr("Own: header\r\n"), HasSubstr("Connection: Upgrade\r\n"),
                    HasSubstr("Upgrade: millrace-stream/1\r\n"),
                    HasSubstr("Authorization: Bearer secret\r\n")));
}

}  // namespace
}  // namespace millrace::http
