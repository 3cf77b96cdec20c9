#include "millrace/adapters/http/operations.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/base/metrics.h"
#include "millrace/base/status_matchers.h"

namespace millrace::http {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

// A process that is as its members say.
class OperationsTest : public testing::Test {
 protected:
  OperationsTest() {
    registry_.AddCounter({"millrace_made_total", "Things made.", {}}).Add(3);
    Router router;
    AddOperations(
        {.alive = [this](const Operations::Verdict& tell) { tell(alive_); },
         .ready = [this](const Operations::Verdict& tell) { tell(ready_); },
         .samples =
             [this](const Operations::Samples& tell) { tell(registry_.Snapshot()); }},
        router);
    server_ = Server::Start({.token = "secret"}, std::move(router)).value();
  }

  absl::StatusOr<Response> Get(const std::string& path, const std::string& token) {
    const std::unique_ptr<Client> client = Client::Make({.token = token}).value();
    Call call{.address = {"127.0.0.1", server_->port()}, .path = path};
    call.method = "GET";
    call.attempts_max = 1;
    return client->CallAndWait(call);
  }

  absl::Status alive_;
  absl::Status ready_;
  base::MetricRegistry registry_;
  std::unique_ptr<Server> server_;
};

TEST_F(OperationsTest, HealthIsOpenToAll) {
  EXPECT_THAT(Get("/healthz", ""), IsOk());
  EXPECT_THAT(Get("/readyz", ""), IsOk());
  EXPECT_THAT(Get("/metrics", ""), StatusIs(StatusCode::kUnauthenticated));
}

TEST_F(OperationsTest, SaysWhatIsWrong) {
  ready_ = absl::UnavailableError("it has not joined yet");
  EXPECT_THAT(Get("/healthz", ""), IsOk());
  EXPECT_THAT(Get("/readyz", ""),
              StatusIs(StatusCode::kUnavailable, HasSubstr("not joined")));
  alive_ = absl::UnavailableError("it is ending");
  EXPECT_THAT(Get("/healthz", ""),
              StatusIs(StatusCode::kUnavailable, HasSubstr("ending")));
}

TEST_F(OperationsTest, MetricsAreThoseOfTheProcessAndItsOwn) {
  ASSERT_THAT(Get("/healthz", ""), IsOk());
  const absl::StatusOr<Response> metrics = Get("/metrics", "secret");
  ASSERT_THAT(metrics, IsOk());
  EXPECT_THAT(metrics->content_type, HasSubstr("version=0.0.4"));
  EXPECT_THAT(metrics->body, HasSubstr("\nmillrace_made_total 3\n"));
  EXPECT_THAT(metrics->body, HasSubstr("\nmillrace_http_requests_total{code=\"200\","
                                       "route=\"/healthz\"} "));
}

}  // namespace
}  // namespace millrace::http
