#include "millrace/adapters/http/session.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/raw_socket_test.h"
#include "millrace/adapters/http/result_test.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/service_test.h"
#include "millrace/base/clock.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/transport/prefix.h"
#include "millrace/transport/recorder_test.h"

namespace millrace::http {
namespace {

using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kHost = "Host: 127.0.0.1\r\n";

std::string Get(std::string_view path) {
  return base::StrCat("GET ", path, " HTTP/1.1\r\n", kHost, "\r\n");
}

std::string Post(std::string_view path, std::string_view body) {
  return base::StrCat("POST ", path, " HTTP/1.1\r\n", kHost,
                      "Content-Type: application/json\r\nContent-Length: ", body.size(),
                      "\r\n\r\n", body);
}

// Hands the request to the test, and answers.
std::unique_ptr<Server> Showing(Result<Request>& shown) {
  Router router;
  const Handler handler = [&shown](Request request, Responder responder) {
    shown.Set(std::move(request));
    responder.Send({.body = "{}"});
  };
  router.Get("/shown", handler);
  router.Post("/shown", handler);
  return Server::Start({}, std::move(router)).value();
}

TEST(SessionTest, HandlersSeeTheWholeRequest) {
  Result<Request> shown;
  const auto server = Showing(shown);
  const RawSocket socket(server->port());
  const absl::Time before = base::RealClock().Now();
  socket.Send(
      base::StrCat("POST /shown?a=1&b=?? HTTP/1.1\r\n", kHost,
                   "Content-Type: application/json\r\nX-Own: one\r\n",
                   "Millrace-Deadline-Ms: 2000\r\nContent-Length: 2\r\n\r\n{}"));
  const Request request = shown.Wait();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/shown");
  EXPECT_EQ(request.query, "a=1&b=??");
  EXPECT_EQ(request.body, "{}");
  EXPECT_EQ(Find(request.headers, "x-own"), "one");
  EXPECT_THAT(request.peer, StartsWith("127.0.0.1:"));
  EXPECT_GE(request.deadline, before + absl::Seconds(2));
  EXPECT_LE(request.deadline, base::RealClock().Now() + absl::Seconds(2));
}

TEST(SessionTest, ADeadlineThatIsNoneIsTheServers) {
  for (const char* const text : {"x", "-1", "99999999999999999999", "100000000"}) {
    Result<Request> shown;
    const auto server = Showing(shown);
    const RawSocket socket(server->port());
    socket.Send(base::StrCat("GET /shown HTTP/1.1\r\n", kHost,
                             "Millrace-Deadline-Ms: ", text, "\r\n\r\n"));
    const absl::Time deadline = shown.Wait().deadline;
    EXPECT_LE(deadline, base::RealClock().Now() + absl::Seconds(60));
  }
}

TEST(SessionTest, ABodyMayComeInPieces) {
  const auto server = StartServer();
  const RawSocket socket(server->port());
  const std::string body(300'000, 'b');
  const std::string request = Post("/echo", body);
  for (size_t at = 0; at < request.size(); at += 7777) {
    ASSERT_TRUE(socket.Send(std::string_view(request).substr(at, 7777)));
  }
  const std::string answer = socket.ReadUntil(body);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200") && answer.ends_with(body));
}

TEST(SessionTest, ChunkedBodiesAreRead) {
  const auto server = StartServer();
  const RawSocket socket(server->port());
  socket.Send(base::StrCat(
      "POST /echo HTTP/1.1\r\n", kHost, "Content-Type: application/json\r\n",
      "Transfer-Encoding: chunked\r\n\r\n", "2\r\n{\"\r\n5\r\na\":1}\r\n0\r\n\r\n"));
  EXPECT_THAT(socket.ReadUntil("}"), HasSubstr("{\"a\":1}"));
}

TEST(SessionTest, AnOldClientGetsOneAnswer) {
  const auto server = StartServer();
  const RawSocket socket(server->port());
  socket.Send(base::StrCat("GET /echo HTTP/1.0\r\n", kHost, "\r\n"));
  EXPECT_THAT(socket.ReadAll(), HasSubstr("Connection: close"));
}

// What comes while a request is worked on waits for its turn.
TEST(SessionTest, TheNextRequestWaits) {
  Result<bool> first_there;
  Result<std::shared_ptr<Responder>> kept;
  std::atomic<int> seconds = 0;
  Router router;
  router.Get("/first", [&](const Request&, Responder responder) {
    kept.Set(std::make_shared<Responder>(std::move(responder)));
  });
  router.Get("/second", [&](const Request&, Responder responder) {
    ++seconds;
    responder.Send({.body = "second"});
  });
  const auto server = Server::Start({}, std::move(router)).value();
  const RawSocket socket(server->port());
  socket.Send(Get("/first"));
  const std::shared_ptr<Responder> responder = kept.Wait();
  socket.Send(Get("/second"));
  EXPECT_EQ(seconds, 0);
  responder->Send({.body = "first"});
  const std::string answers = socket.ReadUntil("second");
  EXPECT_LT(answers.find("first"), answers.find("second"));
  EXPECT_EQ(seconds, 1);
}

TEST(SessionTest, AClientThatGoesAwayHarmsNobody) {
  Result<std::shared_ptr<Responder>> kept;
  Router router = TestRouter();
  router.Get("/wait", [&](const Request&, Responder responder) {
    kept.Set(std::make_shared<Responder>(std::move(responder)));
  });
  const auto server = Server::Start({.connections_max = 1}, std::move(router)).value();
  {
    const RawSocket gone(server->port());
    gone.Send(Get("/wait"));
    kept.Wait();
  }
  // Its place is free again, though nobody has answered yet.
  std::string answer;
  while (!answer.starts_with("HTTP/1.1 200")) {
    const RawSocket next(server->port());
    next.Send(
        base::StrCat("GET /echo HTTP/1.1\r\n", kHost, "Connection: close\r\n\r\n"));
    answer = next.ReadAll();
  }
  kept.Wait()->Send({.body = "nobody hears"});
}

TEST(SessionTest, AnAnswerThatIsNotTakenEndsTheConnection) {
  Router router;
  Result<bool> answered;
  router.Get("/large", [&](const Request&, Responder responder) {
    responder.Send({.body = std::string(50'000'000, 'x')});
    answered.Set(true);
  });
  const auto server =
      Server::Start({.read_within = absl::Milliseconds(100), .stream = {}},
                    std::move(router))
          .value();
  const RawSocket socket(server->port());
  socket.Send(Get("/large"));
  EXPECT_TRUE(answered.Wait());
  base::RealClock().WaitFor(absl::Milliseconds(300), {});
  EXPECT_LT(socket.ReadAll().size(), 50'000'000);
}

TEST(SessionTest, ARefusalCanBeReadThoughMuchWasSent) {
  const auto server = StartServer({.token = "secret"});
  for (int i = 0; i < 20; ++i) {
    const RawSocket socket(server->port());
    socket.Send(Post("/echo", std::string(500'000, 'x')));
    EXPECT_THAT(socket.ReadAll(), StartsWith("HTTP/1.1 401"));
  }
}

// The first message may come in one piece with the request.
TEST(SessionTest, NothingIsLostBehindAnUpgrade) {
  transport::Recorder recorder;
  const auto server = StartServer({}, &recorder);
  const RawSocket socket(server->port());
  const std::string head = "early";
  socket.Send(base::StrCat(
      "GET /stream HTTP/1.1\r\n", kHost, "Upgrade: millrace-stream/1\r\n\r\n",
      transport::WritePrefix({.head_bytes = 5, .head_crc = codec::Crc32c(head)}),
      head));
  EXPECT_THAT(socket.ReadUntil("early"), StartsWith("HTTP/1.1 101"));
  EXPECT_EQ(recorder.Wait(1)[0].head, "early");
  socket.EndWriting();
  EXPECT_THAT(recorder.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(SessionTest, AChannelNeedsATokenToo) {
  const auto server = StartServer({.token = "secret"});
  const RawSocket socket(server->port());
  socket.Send(base::StrCat("GET /stream HTTP/1.1\r\n", kHost,
                           "Upgrade: millrace-stream/1\r\n\r\n"));
  EXPECT_THAT(socket.ReadAll(), StartsWith("HTTP/1.1 401"));
}

TEST(SessionTest, ErrorsShowNothingOfTheInside) {
  const auto server = StartServer();
  const RawSocket socket(server->port());
  socket.Send("GET /echo\x01 HTTP/1.1\r\n\r\n");
  EXPECT_THAT(socket.ReadAll(),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("no HTTP request"),
                    Not(HasSubstr("boost")), Not(HasSubstr("beast"))));
}

}  // namespace
}  // namespace millrace::http
