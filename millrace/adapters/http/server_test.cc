#include "millrace/adapters/http/server.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/raw_socket_test.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/service_test.h"
#include "millrace/base/bytes.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;
using base::literals::operator""_KiB;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kHost = "Host: 127.0.0.1\r\n";

// Asks once, by hand, and gives all that comes.
std::string Ask(const Server& server, std::string_view line, std::string_view headers,
                std::string_view body = "") {
  const RawSocket socket(server.port());
  socket.Send(
      base::StrCat(line, " HTTP/1.1\r\n", headers, "Connection: close\r\n\r\n", body));
  return socket.ReadAll();
}

// Keeps responders until it is told to answer.
class Waiting {
 public:
  Handler handler() {
    return [this](const Request&, Responder responder) {
      const base::MutexLock lock(&mutex_);
      responders_.push_back(std::move(responder));
      changed_.NotifyAll();
    };
  }

  void WaitFor(size_t count) {
    const absl::Time deadline = base::RealClock().Now() + absl::Seconds(60);
    const base::MutexLock lock(&mutex_);
    while (responders_.size() < count) {
      ASSERT_TRUE(changed_.WaitUntil(&mutex_, deadline));
    }
  }

  std::vector<Responder> Take() {
    const base::MutexLock lock(&mutex_);
    return std::exchange(responders_, {});
  }

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  std::vector<Responder> responders_ ABSL_GUARDED_BY(mutex_);
};

TEST(ServerTest, AnswersByMethodAndPath) {
  const auto server = StartServer();
  EXPECT_THAT(Ask(*server, "GET /echo?a=1", kHost),
              AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("GET /echo?a=1 ")));
  EXPECT_THAT(Ask(*server, "GET /other", kHost),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("there is no /other")));
  EXPECT_THAT(Ask(*server, "PUT /echo", kHost),
              AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("no method PUT")));
  EXPECT_THAT(Ask(*server, "POST /fail",
                  base::StrCat(kHost, "Content-Length: 0\r\n",
                               "Content-Type: application/json", "\r\n")),
              AllOf(StartsWith("HTTP/1.1 412"),
                    HasSubstr(R"({"code":"FAILED_PRECONDITION",)"
                              R"("message":"there is \"no\" such pass"})")));
}

TEST(ServerTest, KeepsConnectionsAndAnswersInOrder) {
  const auto server = StartServer();
  const RawSocket socket(server->port());
  const auto ask = [](int i) {
    return base::StrCat("GET /echo?", i, " HTTP/1.1\r\n", kHost, "\r\n");
  };
  socket.Send(ask(1));
  EXPECT_THAT(socket.ReadUntil("?1 "), StartsWith("HTTP/1.1 200"));
  std::string many;
  for (int i = 2; i < 500; ++i) many += ask(i);  // All at once.
  ASSERT_TRUE(socket.Send(many));
  const std::string answers = socket.ReadUntil("?499 ");
  size_t at = 0;
  for (int i = 2; i < 500; ++i) {
    at = answers.find(base::StrCat("GET /echo?", i, " "), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(ServerTest, ChecksWhoAsks) {
  const auto server = StartServer({.token = "secret"});
  const std::string with_token =
      base::StrCat(kHost, "Authorization: Bearer secret\r\n");
  EXPECT_THAT(Ask(*server, "GET /echo", with_token), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask(*server, "GET /healthz", kHost), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask(*server, "GET /echo", kHost),
              AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("UNAUTHENTICATED")));
  EXPECT_THAT(Ask(*server, "GET /echo",
                  base::StrCat(kHost, "Authorization: Bearer secreT\r\n")),
              StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Ask(*server, "GET /echo",
                  "Host: evil.example\r\nAuthorization: Bearer secret\r\n"),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("evil.example")));
  EXPECT_THAT(
      Ask(*server, "GET /echo", base::StrCat(with_token, "Origin: http://evil\r\n")),
      AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("http://evil")));
  EXPECT_THAT(
      Ask(*server, "POST /echo",
          base::StrCat(with_token, "Content-Type: text/plain\r\nContent-Length: 2\r\n"),
          "{}"),
      AllOf(StartsWith("HTTP/1.1 415"), HasSubstr("text/plain")));
}

// The head is refused before anything of a body is read.
TEST(ServerTest, RefusesBeforeTheBody) {
  const auto server = StartServer({.token = "secret"});
  const RawSocket socket(server->port());
  socket.Send(base::StrCat("POST /echo HTTP/1.1\r\n", kHost,
                           "Content-Length: 1000000\r\n\r\n"));
  EXPECT_THAT(socket.ReadAll(), StartsWith("HTTP/1.1 401"));
}

TEST(ServerTest, RequestsHaveLimits) {
  const auto server = StartServer({.header_max = 1_KiB, .body_max = 2_KiB});
  EXPECT_THAT(Ask(*server, "GET /echo",
                  base::StrCat(kHost, "Long: ", std::string(2000, 'x'), "\r\n")),
              AllOf(StartsWith("HTTP/1.1 431"), HasSubstr("1 KiB")));
  EXPECT_THAT(Ask(*server, "POST /echo",
                  base::StrCat(kHost, "Content-Type: application/json\r\n",
                               "Content-Length: 99999999999\r\n")),
              AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("2 KiB")));
  std::string chunks;
  for (int i = 0; i < 100; ++i) chunks += "40\r\n" + std::string(64, 'x') + "\r\n";
  EXPECT_THAT(Ask(*server, "POST /echo",
                  base::StrCat(kHost, "Content-Type: application/json\r\n",
                               "Transfer-Encoding: chunked\r\n"),
                  chunks),
              StartsWith("HTTP/1.1 413"));
}

TEST(ServerTest, GarbageIsRefused) {
  const auto server = StartServer();
  for (const std::string_view garbage :
       {"garbage\r\n\r\n", "GET /echo HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\r\n\r\n",
        "GET /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
    const RawSocket socket(server->port());
    socket.Send(garbage);
    EXPECT_THAT(socket.ReadAll(), StartsWith("HTTP/1.1 400")) << garbage;
  }
  EXPECT_THAT(Ask(*server, "GET /echo", kHost), StartsWith("HTTP/1.1 200"));
}

// Drips of bytes do not keep a connection: all of a request has one deadline.
TEST(ServerTest, SlowRequestsAreDropped) {
  const auto server = StartServer({.read_within = absl::Milliseconds(200)});
  const RawSocket socket(server->port());
  std::jthread drip([&](const std::stop_token& stop) {
    socket.Send("GET /echo HTTP/1.1\r\nLong: ");
    while (!stop.stop_requested() && socket.Send("x")) {
      base::RealClock().WaitFor(absl::Milliseconds(10), stop);
    }
  });
  EXPECT_EQ(socket.ReadAll(), "");
}

TEST(ServerTest, IdleConnectionsAreDropped) {
  const auto server = StartServer({.idle_max = absl::Milliseconds(100)});
  const RawSocket socket(server->port());
  EXPECT_EQ(socket.ReadAll(), "");
}

// Connections that do nothing give way to one that does.
TEST(ServerTest, ManySilentConnectionsKeepNobodyOut) {
  const auto server = StartServer({.connections_max = 8});
  std::vector<RawSocket> silent;
  for (int i = 0; i < 40; ++i) {
    silent.emplace_back(server->port()).Send("GET /echo HTTP/1.1\r\n");
  }
  EXPECT_THAT(Ask(*server, "GET /echo", kHost), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(silent[0].ReadAll(), "");
}

TEST(ServerTest, TurnsAwayWhatItHasNoConnectionFor) {
  Waiting waiting;
  Router router;
  router.Get("/wait", waiting.handler());
  const auto server = Server::Start({.connections_max = 2}, std::move(router)).value();
  std::vector<RawSocket> working;
  for (int i = 0; i < 2; ++i) {
    working.emplace_back(server->port())
        .Send(base::StrCat("GET /wait HTTP/1.1\r\n", kHost, "\r\n"));
  }
  waiting.WaitFor(2);
  const RawSocket third(server->port());
  EXPECT_THAT(third.ReadAll(), StartsWith("HTTP/1.1 503"));
  for (Responder& responder : waiting.Take()) responder.Send({.body = "done"});
  EXPECT_THAT(working[0].ReadUntil("done"), StartsWith("HTTP/1.1 200"));
}

TEST(ServerTest, ALongPollIsAnsweredFromAnotherThread) {
  Waiting waiting;
  Router router;
  router.Post("/poll", waiting.handler());
  const auto server = Server::Start({}, std::move(router)).value();
  const auto client = MakeClient();
  std::jthread answering([&] {
    waiting.WaitFor(1);
    waiting.Take()[0].Send({.body = "news"});
  });
  const absl::StatusOr<Response> response =
      client->CallAndWait({.address = AddressOf(*server), .path = "/poll"});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->body, "news");
}

TEST(ServerTest, WhatIsNotAnsweredIsToldInTime) {
  Waiting waiting;
  Router router;
  router.Get("/poll", waiting.handler());
  const auto server =
      Server::Start({.answer_within = absl::Milliseconds(50)}, std::move(router))
          .value();
  EXPECT_THAT(Ask(*server, "GET /poll", kHost),
              AllOf(StartsWith("HTTP/1.1 504"), HasSubstr("DEADLINE_EXCEEDED")));
  waiting.Take()[0].Send({.body = "too late"});
}

TEST(ServerTest, AClientMayAskForLessTime) {
  Waiting waiting;
  Router router;
  router.Get("/poll", waiting.handler());
  const auto server = Server::Start({}, std::move(router)).value();
  EXPECT_THAT(
      Ask(*server, "GET /poll", base::StrCat(kHost, "Millrace-Deadline-Ms: 20\r\n")),
      StartsWith("HTTP/1.1 504"));
}

TEST(ServerTest, AResponderThatIsDroppedAnswers) {
  Router router;
  router.Get("/silent", [](const Request&, const Responder&) {});
  const auto server = Server::Start({}, std::move(router)).value();
  EXPECT_THAT(Ask(*server, "GET /silent", kHost),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("UNAVAILABLE"),
                    HasSubstr("no answer")));
}

// As a server that ends may drop it: the next one answers.
TEST(ServerTest, AClientAsksAgainWhereItGotNoAnswer) {
  std::atomic<int> asked = 0;
  Router router;
  router.Post("/ends", [&](const Request&, Responder responder) {
    if (++asked > 2) responder.Send({.body = "{}"});
  });
  const auto server = Server::Start({}, std::move(router)).value();
  const auto client = MakeClient();
  EXPECT_THAT(client->CallAndWait({.address = AddressOf(*server), .path = "/ends"}),
              IsOk());
  EXPECT_EQ(asked, 3);
}

TEST(ServerTest, StopsWhileRequestsWait) {
  Waiting waiting;
  Router router;
  router.Get("/poll", waiting.handler());
  auto server = Server::Start({}, std::move(router)).value();
  const RawSocket polling(server->port());
  const RawSocket idle(server->port());
  polling.Send(base::StrCat("GET /poll HTTP/1.1\r\n", kHost, "\r\n"));
  waiting.WaitFor(1);
  std::vector<Responder> kept = waiting.Take();
  server->Stop();
  EXPECT_THAT(polling.ReadAll(),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("stopping")));
  EXPECT_EQ(idle.ReadAll(), "");
  server.reset();
  kept[0].Send({.body = "nobody hears"});
}

TEST(ServerTest, OnlyLoopbackWithoutTlsAndToken) {
  EXPECT_THAT(Server::Start({.host = "0.0.0.0"}, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("TLS")));
  EXPECT_THAT(Server::Start({.host = "0.0.0.0", .token = "secret"}, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Server::Start({.host = "localhost"}, {}), IsOk());
}

TEST(ServerTest, SaysWhereItCannotListen) {
  const auto server = StartServer();
  EXPECT_THAT(Server::Start({.port = server->port()}, {}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr(base::StrCat("127.0.0.1:", server->port()))));
  EXPECT_THAT(Server::Start({.host = "no.such.host.invalid"}, {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no.such.host")));
}

}  // namespace
}  // namespace millrace::http
