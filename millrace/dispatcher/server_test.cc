#include "millrace/dispatcher/server.h"

#include <cstdint>
#include <future>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/server.h"
#include "millrace/api/json.h"
#include "millrace/api/operations.h"
#include "millrace/api/route.h"
#include "millrace/api/routes.h"
#include "millrace/api/service.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/metadata/memory_store.h"

namespace millrace::dispatcher {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

constexpr int64_t kLongWaitMs = 20'000;

// A dispatcher at a port of its own, and a client that asks it once.
class ServerTest : public testing::Test {
 protected:
  void Serve(const http::ServerOptions& options = {}) {
    server_ = dispatcher::Serve(options, *loop_).value();
  }

  http::Call CallOf(const std::string& method, const std::string& path,
                    const std::string& body) const {
    http::Call call;
    call.address = {"127.0.0.1", server_->port()};
    call.method = method;
    call.path = path;
    call.body = body;
    call.attempts_max = 1;
    return call;
  }

  absl::StatusOr<http::Response> Post(const std::string& path,
                                      const std::string& body) {
    return client_->CallAndWait(CallOf("POST", path, body));
  }

  absl::StatusOr<http::Response> Get(const std::string& path) {
    return client_->CallAndWait(CallOf("GET", path, ""));
  }

  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Ask(const std::string& path, const Request& request) {
    const absl::StatusOr<http::Response> response = Post(path, api::ToJson(request));
    if (!response.ok()) return response.status();
    return api::FromJson<Reply>(response->body);
  }

  metadata::MemoryStore store_;
  std::unique_ptr<Loop> loop_ = Loop::Start(store_, {}).value();
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Client> client_ = http::Client::Make({}).value();
};

api::OpenJob OpenOne(int64_t wait_ms) {
  api::OpenJob open;
  open.settings.name = "job";
  open.settings.pipeline = "text";
  open.opening = 1;
  open.wait_ms = wait_ms;
  return open;
}

TEST_F(ServerTest, AnswersEveryRoute) {
  Serve();
  int routes = 0;
  api::ForEachRoute(api::kDispatcherRoutes, [&](const auto& route) {
    const std::string path(route.path);
    ++routes;
    if (!api::HasBody(route.method)) {
      EXPECT_THAT(Get(path), IsOk()) << path;
      EXPECT_THAT(Post(path, "{}"), testing::Not(IsOk())) << path;
      return;
    }
    EXPECT_THAT(Post(path, "["), StatusIs(StatusCode::kInvalidArgument)) << path;
    EXPECT_THAT(Get(path), testing::Not(IsOk())) << path;
    const absl::Status status = Post(path, "{}").status();
    EXPECT_THAT(status.message(), testing::Not(HasSubstr("there is no /"))) << path;
  });
  EXPECT_GE(routes, 8);
  EXPECT_THAT(Post("/v1/invented", "{}"),
              StatusIs(StatusCode::kNotFound, HasSubstr("/v1/invented")));
}

TEST_F(ServerTest, KeepsAndGivesObjects) {
  Serve();
  ASSERT_THAT(
      Ask<api::Nothing>("/v1/objects", api::PutObject{"abc", "some \"text\"\n"}),
      IsOk());
  const absl::StatusOr<api::Object> object =
      Ask<api::Object>("/v1/objects/get", api::GetObject{"abc"});
  ASSERT_THAT(object, IsOk());
  EXPECT_EQ(object->text, "some \"text\"\n");
  EXPECT_THAT(Ask<api::Object>("/v1/objects/get", api::GetObject{"xyz"}),
              StatusIs(StatusCode::kNotFound, HasSubstr("xyz")));
}

TEST_F(ServerTest, NamesTheMemberThatIsWrong) {
  Serve();
  EXPECT_THAT(Post("/v1/jobs/open", R"({"settings": {"consumers": "two"}})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("consumers")));
  EXPECT_THAT(Post("/v1/workers/beat", R"({"worker": 1, "lanes": {}})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("lanes")));
  EXPECT_THAT(Post("/v1/consumers/beat", R"({"reader": {"job": 1.5}})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("job")));
}

TEST_F(ServerTest, OnlyHealthIsToldWithoutTheToken) {
  Serve({.token = "secret"});
  EXPECT_THAT(Get("/healthz"), IsOk());
  EXPECT_THAT(Get("/v1/openapi.json"), StatusIs(StatusCode::kUnauthenticated));
  EXPECT_THAT(Post("/v1/objects/get", R"({"hash": "abc"})"),
              StatusIs(StatusCode::kUnauthenticated));
  client_ = http::Client::Make({.token = "secret"}).value();
  EXPECT_THAT(Get("/v1/openapi.json"), IsOk());
  EXPECT_THAT(Post("/v1/objects/get", R"({"hash": "abc"})"),
              StatusIs(StatusCode::kNotFound));
}

TEST_F(ServerTest, ThePageListsEveryRoute) {
  Serve();
  const absl::StatusOr<http::Response> page = Get("/v1/openapi.json");
  ASSERT_THAT(page, IsOk());
  EXPECT_EQ(page->content_type, http::kJsonType);
  ASSERT_THAT(api::ParseJson(page->body), IsOk());
  api::ForEachRoute(api::kDispatcherRoutes, [&](const auto& route) {
    EXPECT_THAT(page->body, HasSubstr(base::StrCat("\"", route.path, "\"")));
    EXPECT_THAT(page->body, HasSubstr(std::string(route.summary)));
  });
}

TEST_F(ServerTest, AnAnswerIsWaitedForUntilThereIsSomethingToSay) {
  Serve();
  auto opened = std::async(std::launch::async, [&] {
    return Ask<api::OpenedJob>("/v1/jobs/open", OpenOne(kLongWaitMs));
  });
  api::WorkerBeat beat{.worker = 7};
  beat.facts = api::WorkerFacts{.worker = 7, .address = "127.0.0.1:1"};
  beat.wait_ms = kLongWaitMs;
  absl::StatusOr<api::WorkerNews> news = Ask<api::WorkerNews>("/v1/workers/beat", beat);
  ASSERT_THAT(news, IsOk());
  while (news->jobs.empty()) {  // The job may come after the worker.
    api::WorkerBeat again{.worker = 7, .version = news->version};
    again.wait_ms = kLongWaitMs;
    news = Ask<api::WorkerNews>("/v1/workers/beat", again);
    ASSERT_THAT(news, IsOk());
  }
  api::WorkerBeat listed{.worker = 7};
  listed.listed.push_back({.job = news->jobs[0].job});
  listed.listed[0].facts.manifest = "hash";
  ASSERT_THAT(Ask<api::WorkerNews>("/v1/workers/beat", listed), IsOk());
  const absl::StatusOr<api::OpenedJob> job = opened.get();
  ASSERT_THAT(job, IsOk());
  EXPECT_TRUE(job->ready);
  EXPECT_EQ(job->facts.manifest, "hash");
}

TEST_F(ServerTest, SaysWhatIsWaitedForWhenTheTimeIsOver) {
  Serve();
  const absl::StatusOr<api::OpenedJob> job =
      Ask<api::OpenedJob>("/v1/jobs/open", OpenOne(1));
  ASSERT_THAT(job, IsOk());
  EXPECT_FALSE(job->ready);
  EXPECT_THAT(job->waits_for, HasSubstr("millrace worker"));
}

TEST_F(ServerTest, TellsPeopleWhatThereIs) {
  Serve();
  ASSERT_THAT(Ask<api::OpenedJob>("/v1/jobs/open", OpenOne(1)), IsOk());
  api::WorkerBeat beat{.worker = 7};
  beat.facts = api::WorkerFacts{.worker = 7, .address = "127.0.0.1:1"};
  ASSERT_THAT(Ask<api::WorkerNews>("/v1/workers/beat", beat), IsOk());
  const auto jobs = api::FromJson<api::JobList>(Get("/v1/jobs")->body);
  ASSERT_THAT(jobs, IsOk());
  ASSERT_EQ(jobs->jobs.size(), 1);
  EXPECT_EQ(jobs->jobs[0].name, "job");
  const auto workers = api::FromJson<api::WorkerList>(Get("/v1/workers")->body);
  ASSERT_THAT(workers, IsOk());
  ASSERT_EQ(workers->workers.size(), 1);
  EXPECT_EQ(workers->workers[0].facts.address, "127.0.0.1:1");
  const auto status = api::FromJson<api::ServiceStatus>(Get("/v1/status")->body);
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(status->jobs, 1);
  EXPECT_EQ(status->workers, 1);
}

TEST_F(ServerTest, MetricsCountEventsAndWhatHappened) {
  Serve();
  ASSERT_THAT(Ask<api::OpenedJob>("/v1/jobs/open", OpenOne(1)), IsOk());
  const absl::StatusOr<http::Response> metrics = Get("/metrics");
  ASSERT_THAT(metrics, IsOk());
  EXPECT_THAT(metrics->body, HasSubstr("\nmillrace_dispatcher_jobs 1\n"));
  EXPECT_THAT(metrics->body, HasSubstr("\nmillrace_dispatcher_events_total 4\n"));
  EXPECT_THAT(metrics->body,
              HasSubstr("\nmillrace_dispatcher_write_microseconds_count 1\n"));
}

TEST_F(ServerTest, WhoHasJustBegunAgainIsNotReady) {
  Serve();
  EXPECT_THAT(Get("/readyz"), IsOk());
  ASSERT_THAT(Ask<api::OpenedJob>("/v1/jobs/open", OpenOne(1)), IsOk());
  server_.reset();
  loop_.reset();
  loop_ = Loop::Start(store_, {}).value();
  Serve();
  EXPECT_THAT(Get("/readyz"), StatusIs(StatusCode::kUnavailable, HasSubstr("workers")));
  EXPECT_THAT(Get("/healthz"), IsOk());
}

TEST_F(ServerTest, AnAddressThatIsTakenIsNamed) {
  Serve();
  const int port = server_->port();
  EXPECT_THAT(dispatcher::Serve({.port = port}, *loop_).status().message(),
              HasSubstr(base::StrCat(port)));
}

}  // namespace
}  // namespace millrace::dispatcher
