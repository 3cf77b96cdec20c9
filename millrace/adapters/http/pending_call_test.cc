#include "millrace/adapters/http/pending_call.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/raw_socket_test.h"
#include "millrace/adapters/http/service_test.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::string Answer(std::string_view body) {
  return base::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), kHeadEnd,
                      body);
}

// Asks a server once; it gets retries in a millisecond or two.
absl::StatusOr<std::string> Ask(const RawServer& server, int attempts_max = 1) {
  const auto client = MakeClient({.retry_after = absl::Milliseconds(1)});
  const absl::StatusOr<Response> response =
      client->CallAndWait({.address = {"127.0.0.1", server.port()},
                           .method = "GET",
                           .path = "/",
                           .attempts_max = attempts_max});
  if (!response.ok()) return response.status();
  return response->body;
}

// Gives each connection these bytes as an answer, and ends it.
RawServer::Script Says(std::string bytes) {
  return [bytes = std::move(bytes)](const RawSocket& socket, int) {
    socket.ReadUntil(kHeadEnd);
    socket.Send(bytes);
  };
}

TEST(PendingCallTest, ReadsAnswersOfEveryForm) {
  const RawServer lengths(Says(Answer("by length")));
  EXPECT_THAT(Ask(lengths), base::IsOkAndHolds("by length"));
  const RawServer chunks(
      Says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
           "3\r\nin \r\n6\r\nchunks\r\n0\r\n\r\n"));
  EXPECT_THAT(Ask(chunks), base::IsOkAndHolds("in chunks"));
  const RawServer ends(Says("HTTP/1.0 200 OK\r\n\r\nuntil the end"));
  EXPECT_THAT(Ask(ends), base::IsOkAndHolds("until the end"));
  const RawServer none(Says("HTTP/1.1 204 No Content\r\n\r\n"));
  EXPECT_THAT(Ask(none), base::IsOkAndHolds(""));
}

TEST(PendingCallTest, AnAnswerMayDrip) {
  const RawServer server([](const RawSocket& socket, int) {
    socket.ReadUntil(kHeadEnd);
    for (const char c : Answer("drop by drop")) socket.Send({&c, 1});
  });
  EXPECT_THAT(Ask(server), base::IsOkAndHolds("drop by drop"));
}

TEST(PendingCallTest, GarbageIsNoAnswer) {
  for (const char* const garbage :
       {"garbage\r\n\r\n", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"}) {
    const RawServer server(Says(garbage));
    EXPECT_THAT(Ask(server), StatusIs(absl::StatusCode::kDataLoss,
                                      AllOf(HasSubstr("127.0.0.1:"),
                                            HasSubstr("no readable answer"))))
        << garbage;
  }
}

TEST(PendingCallTest, AHeaderWithoutEndHasALimit) {
  const RawServer server([](const RawSocket& socket, int) {
    socket.ReadUntil(kHeadEnd);
    socket.Send("HTTP/1.1 200 OK\r\n");
    const std::string line = base::StrCat("X: ", std::string(1000, 'x'), "\r\n");
    for (int i = 0; i < 10'000 && socket.Send(line); ++i) continue;
  });
  EXPECT_THAT(Ask(server),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("header limit")));
}

TEST(PendingCallTest, AnEndBeforeTheAnswerIsTriedAgain) {
  std::atomic<int> connections = 0;
  const RawServer server([&](const RawSocket& socket, int connection) {
    ++connections;
    socket.ReadUntil(kHeadEnd);
    if (connection == 0) return;                               // No byte.
    if (connection == 1) return (void)socket.Send("HTTP/1.");  // Some.
    if (connection == 2) {                                     // Not all.
      return (void)socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    }
    socket.Send(Answer("whole"));
  });
  EXPECT_THAT(Ask(server, 10), base::IsOkAndHolds("whole"));
  EXPECT_EQ(connections, 4);
}

TEST(PendingCallTest, OneAttemptIsOne) {
  std::atomic<int> connections = 0;
  const RawServer server([&](const RawSocket&, int) { ++connections; });
  EXPECT_THAT(Ask(server, 1),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("127.0.0.1:")));
  EXPECT_EQ(connections, 1);
}

// A connection that the server closed after the last answer is no attempt.
TEST(PendingCallTest, AStaleConnectionIsReplaced) {
  const RawServer server(Says(Answer("one each")));
  const auto client = MakeClient();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(
        client->CallAndWait(
            {.address = {"127.0.0.1", server.port()}, .path = "/", .attempts_max = 1}),
        IsOk());
  }
}

TEST(PendingCallTest, WhatSaysItClosesIsNotKept) {
  const RawServer server([&](const RawSocket& socket, int) {
    socket.ReadUntil(kHeadEnd);
    socket.Send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    socket.ReadAll();  // Ends when the client does.
  });
  EXPECT_THAT(Ask(server), IsOk());
  EXPECT_THAT(Ask(server), IsOk());
}

// What follows an answer unasked could be taken for the next one.
TEST(PendingCallTest, UnaskedBytesEndAConnection) {
  const RawServer server([&](const RawSocket& socket, int connection) {
    socket.ReadUntil(kHeadEnd);
    socket.Send(Answer(base::StrCat("right ", connection)) + Answer("wrong"));
    socket.ReadAll();
  });
  const auto client = MakeClient();
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<Response> response = client->CallAndWait(
        {.address = {"127.0.0.1", server.port()}, .path = "/", .attempts_max = 1});
    ASSERT_THAT(response, IsOk());
    EXPECT_EQ(response->body, base::StrCat("right ", i));
  }
}

TEST(PendingCallTest, SendsWhatIdentifiesIt) {
  std::string asked;
  {
    const RawServer server([&](const RawSocket& socket, int) {
      asked = socket.ReadUntil(kHeadEnd);
      socket.Send(Answer(""));
    });
    const auto client = MakeClient({.token = "secret"});
    ASSERT_THAT(client->CallAndWait({.address = {"127.0.0.1", server.port()},
                                     .path = "/v1/x",
                                     .headers = {{"Own", "header"}},
                                     .within = absl::Seconds(20)}),
                IsOk());
  }
  EXPECT_THAT(
      asked,
      AllOf(HasSubstr("POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1:"),
            HasSubstr("Own: header\r\n"), HasSubstr("Authorization: Bearer secret\r\n"),
            HasSubstr("Millrace-Request-Id: "), HasSubstr("Millrace-Deadline-Ms: 1")));
}

TEST(PendingCallTest, ErrorsOfOtherServersAreErrors) {
  const RawServer server(
      Says("HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\n<html>"));
  EXPECT_THAT(Ask(server), StatusIs(absl::StatusCode::kNotFound, HasSubstr("404")));
}

}  // namespace
}  // namespace millrace::http
