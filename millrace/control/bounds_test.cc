// What others say to a dispatcher costs it a bounded amount.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/error.h"
#include "millrace/api/service.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/dispatcher_test.h"
#include "millrace/control/events.h"

namespace millrace::control {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

TEST(BoundsTest, AWorkerTellsOfNobodyElse) {
  Service service;
  api::WorkerBeat beat{.worker = 1, .facts = Facts(2)};
  EXPECT_THAT(service.Send(beat), StatusIs(kInvalidArgument));
  EXPECT_TRUE(service.Tell(2).join) << "it has not joined";
}

TEST(BoundsTest, AbsurdFactsOfSourcesAreAnErrorOfTheOpening) {
  Service service;
  service.Join(Facts(1));
  service.Accept(Opening());
  api::JobFacts facts = Listed(true);
  facts.rows = 100;
  facts.batch_rows = 0;
  service.List(1, facts);
  EXPECT_THAT(service.Send(Opening()),
              StatusIs(kInvalidArgument, HasSubstr("batch_rows must be 1 to")));
}

// The run before had two members; this one has one.
TEST(BoundsTest, AMemberThatIsNoneAnyMoreIsNotHeard) {
  Service service;
  service.Join(Facts(1));
  api::OpenJob first = Opening();
  first.settings.members = 2;
  api::OpenJob second = first;
  second.member = 1;
  service.Start({first, second});
  api::OpenJob again = Opening();
  again.run.restart = 1;
  again.opening = 2;
  api::ConsumerBeat beat = service.Start({again})[0];
  EXPECT_THAT(service.Send(beat), IsOk());
  beat.reader.member = 1;
  beat.reader.generation = 1;
  EXPECT_THAT(service.Send(beat), StatusIs(kFailedPrecondition));
}

TEST(BoundsTest, ThereIsNoEndOfNamesButOfJobs) {
  Service service;
  for (int64_t number = 1; number < 1 << 14; ++number) {
    Event made;
    made.job_made = {number, {.name = base::StrCat("job ", number)}, 0};
    service.journal.push_back(ToLine(made));
  }
  service.Restart();
  const auto open = [&](const std::string& name) {
    api::OpenJob opening = Opening(0, 2);
    opening.settings.name = name;
    return service.Send(opening);
  };
  EXPECT_THAT(open("the last"), IsOk());
  EXPECT_THAT(open("one more"), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(open("job 7"), IsOk()) << "it is there";
}

TEST(BoundsTest, RememberedFailuresOfLanesAreBounded) {
  Service service;
  service.Join(Facts(1));
  service.Join(Facts(2));
  const api::ConsumerBeat beat = service.Start({Opening()})[0];
  for (int64_t lane = 0; lane < 5'000; ++lane) {
    const api::LaneReport report{.job = beat.reader.job,
                                 .incarnation = beat.reader.incarnation,
                                 .at = {0, lane},
                                 .failed = api::Error{"internal", "no such file"}};
    ASSERT_THAT(service.dispatcher().Beat(
                    api::WorkerBeat{.worker = 1, .lanes = {report}}, service.now),
                IsOk());
  }
  EXPECT_FALSE(service.Send(beat)->failed.has_value()) << "the other may run them";
}

}  // namespace
}  // namespace millrace::control
