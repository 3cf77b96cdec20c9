#include "millrace/adapters/http/client.h"

#include <atomic>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/service_test.h"
#include "millrace/base/bytes.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/recorder_test.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;
using base::literals::operator""_KiB;
using testing::AllOf;
using testing::HasSubstr;

// A port that nobody listens on.
int FreePort() { return StartServer()->port(); }

// What requests were seen with.
struct Seen {
  base::Mutex mutex;
  std::vector<std::string> ids ABSL_GUARDED_BY(mutex);
  std::set<std::string> peers ABSL_GUARDED_BY(mutex);

  void Add(const Request& request) {
    const base::MutexLock lock(&mutex);
    ids.emplace_back(Find(request.headers, kRequestIdHeader));
    peers.insert(request.peer);
  }
};

TEST(ClientTest, GetsAnswersAndErrors) {
  const auto server = StartServer({.token = "secret"});
  const auto client = MakeClient({.token = "secret"});
  const absl::StatusOr<Response> response =
      client->CallAndWait({.address = AddressOf(*server),
                           .path = "/echo",
                           .query = "a=1",
                           .body = std::string(5'000'000, 'x')});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->content_type, "application/json");
  EXPECT_EQ(response->body, "POST /echo?a=1 " + std::string(5'000'000, 'x'));
  EXPECT_THAT(
      client->CallAndWait({.address = AddressOf(*server), .path = "/fail"}),
      StatusIs(absl::StatusCode::kFailedPrecondition, "there is \"no\" such pass"));
  EXPECT_THAT(client->CallAndWait({.address = AddressOf(*server), .path = "/none"}),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(
      MakeClient()->CallAndWait({.address = AddressOf(*server), .path = "/echo"}),
      StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST(ClientTest, UsesAConnectionAgain) {
  Seen seen;
  Router router;
  router.Post("/call", [&](const Request& request, Responder responder) {
    seen.Add(request);
    responder.Send({.body = "{}"});
  });
  const auto server = Server::Start({}, std::move(router)).value();
  const auto client = MakeClient();
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(client->CallAndWait({.address = AddressOf(*server), .path = "/call"}),
                IsOk());
  }
  const base::MutexLock lock(&seen.mutex);
  EXPECT_EQ(seen.peers.size(), 1);
  EXPECT_EQ(std::set<std::string>(seen.ids.begin(), seen.ids.end()).size(), 10);
}

TEST(ClientTest, ManyCallsAtOnce) {
  const auto server = StartServer({.request_threads = 2});
  const auto client = MakeClient({.request_threads = 2});
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 50; ++i) {
          const std::string body = base::StrCat(thread, ".", i);
          const absl::StatusOr<Response> response = client->CallAndWait(
              {.address = AddressOf(*server), .path = "/echo", .body = body});
          if (response.ok() && response->body.ends_with(body)) ++answered;
        }
      });
    }
  }
  EXPECT_EQ(answered, 200);
}

TEST(ClientTest, AnUnreachableServerIsNamed) {
  const auto client = MakeClient();
  const int port = FreePort();
  EXPECT_THAT(client->CallAndWait({.address = {"127.0.0.1", port},
                                   .path = "/echo",
                                   .within = absl::Milliseconds(200)}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(base::StrCat("127.0.0.1:", port)),
                             HasSubstr("refused"))));
  EXPECT_THAT(
      client->CallAndWait({.address = {"no.such.host.invalid", 80},
                           .path = "/echo",
                           .attempts_max = 1}),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no.such.host.invalid:80")));
}

TEST(ClientTest, TriesAgainWhenTheServerComesBack) {
  auto server = StartServer();
  const int port = server->port();
  const auto client = MakeClient();
  ASSERT_THAT(client->CallAndWait({.address = {"127.0.0.1", port}, .path = "/echo"}),
              IsOk());
  server.reset();  // The idle connection is stale now.
  std::jthread restart([&] {
    base::RealClock().WaitFor(absl::Milliseconds(200), {});
    server = StartServer({.port = port});
  });
  EXPECT_THAT(client->CallAndWait({.address = {"127.0.0.1", port}, .path = "/echo"}),
              IsOk());
}

TEST(ClientTest, TriesAgainWhatIsUnavailableWithTheSameId) {
  Seen seen;
  std::atomic<int> calls = 0;
  Router router;
  router.Post("/busy", [&](const Request& request, Responder responder) {
    seen.Add(request);
    if (++calls < 4) return responder.Send(absl::UnavailableError("later"));
    responder.Send({.body = "{}"});
  });
  const auto server = Server::Start({}, std::move(router)).value();
  const auto client = MakeClient({.retry_after = absl::Milliseconds(1)});
  const Call call = {.address = AddressOf(*server), .path = "/busy"};
  EXPECT_THAT(client->CallAndWait(call), IsOk());
  {
    const base::MutexLock lock(&seen.mutex);
    ASSERT_EQ(seen.ids.size(), 4);
    EXPECT_EQ(seen.ids[0], seen.ids[3]);
    EXPECT_EQ(seen.ids[0].size(), 32);
  }
  calls = 0;
  Call twice = call;
  twice.attempts_max = 2;
  EXPECT_THAT(client->CallAndWait(twice),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("later")));
}

// A server that takes requests and never answers.
Router Hole() {
  static base::Mutex mutex;
  static std::vector<Responder>& kept = *new std::vector<Responder>;
  Router router;
  router.Post("/hole", [](const Request&, Responder responder) {
    const base::MutexLock lock(&mutex);
    kept.push_back(std::move(responder));
  });
  return router;
}

TEST(ClientTest, ACallEndsAtItsDeadline) {
  const auto server = Server::Start({}, Hole()).value();
  const auto client = MakeClient();
  EXPECT_THAT(client->CallAndWait({.address = AddressOf(*server),
                                   .path = "/hole",
                                   .within = absl::Milliseconds(100)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(ClientTest, ACallCanBeCancelled) {
  const auto server = Server::Start({}, Hole()).value();
  const auto client = MakeClient();
  std::stop_source stop;
  std::jthread cancelling([&] {
    base::RealClock().WaitFor(absl::Milliseconds(50), {});
    stop.request_stop();
  });
  EXPECT_THAT(client->CallAndWait({.address = AddressOf(*server), .path = "/hole"},
                                  stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("/hole")));
}

TEST(ClientTest, EndingTheClientEndsItsCalls) {
  const auto server = Server::Start({}, Hole()).value();
  std::atomic<int> cancelled = 0;
  {
    const auto client = MakeClient();
    for (int i = 0; i < 10; ++i) {
      client->Start({.address = AddressOf(*server), .path = "/hole"},
                    [&](const absl::StatusOr<Response>& response) {
                      if (absl::IsCancelled(response.status())) ++cancelled;
                    });
    }
  }
  EXPECT_EQ(cancelled, 10);
}

TEST(ClientTest, CallsUnderWayHaveALimit) {
  const auto server = Server::Start({}, Hole()).value();
  const auto client = MakeClient({.calls_max = 1});
  client->Start({.address = AddressOf(*server), .path = "/hole"},
                [](const absl::StatusOr<Response>&) {});
  EXPECT_THAT(client->CallAndWait({.address = AddressOf(*server), .path = "/hole"}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(ClientTest, AnAnswerHasALimit) {
  const auto server = StartServer();
  const auto client = MakeClient({.answer_max = 1_KiB});
  EXPECT_THAT(client->CallAndWait({.address = AddressOf(*server),
                                   .path = "/echo",
                                   .body = std::string(2000, 'x')}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("body limit")));
}

TEST(ClientTest, AChannelThatCannotBeOpenedSaysWhy) {
  const auto server = StartServer({.token = "secret"});
  const auto client = MakeClient({.token = "secret"});
  const auto why = [&](Client& asking, const ChannelCall& call) {
    transport::Recorder recorder;
    asking.OpenChannel(call, recorder.Events())->Send({.head = "queued"});
    return recorder.WaitClosed();
  };
  const Address address = AddressOf(*server);
  EXPECT_THAT(why(*client, {.address = address, .path = "/none"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
  EXPECT_THAT(why(*client, {.address = address, .path = "/stream", .query = "refused"}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("generation")));
  EXPECT_THAT(why(*client, {.address = address, .path = "/echo"}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("no channel")));
  EXPECT_THAT(why(*MakeClient(), {.address = address, .path = "/stream"}),
              StatusIs(absl::StatusCode::kUnauthenticated));
  const int port = FreePort();
  EXPECT_THAT(why(*client, {.address = {"127.0.0.1", port}, .path = "/stream"}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr(base::StrCat("127.0.0.1:", port))));
}

TEST(ClientTest, AChannelMayBeClosedBeforeItIsOpen) {
  const auto server = StartServer();
  const auto client = MakeClient();
  for (int i = 0; i < 20; ++i) {
    transport::Recorder recorder;
    const auto channel = client->OpenChannel(
        {.address = AddressOf(*server), .path = "/stream"}, recorder.Events());
    channel->Close();
    EXPECT_THAT(recorder.WaitClosed(), IsOk());
  }
}

}  // namespace
}  // namespace millrace::http
