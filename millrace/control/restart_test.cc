// A dispatcher that goes on from its journal.

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/base/status_matchers.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/dispatcher_test.h"
#include "millrace/control/state.h"

namespace millrace::control {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;

TEST(RestartTest, ARestartForgetsNothingThatWasAnswered) {
  Service service;
  service.Join(Facts(1));
  const api::ConsumerBeat beat = service.Start({Opening()})[0];
  const std::map<int64_t, JobState> before = service.dispatcher().state().jobs();
  const api::OpenedJob opened = *service.Send(Opening());
  service.Restart();
  EXPECT_EQ(service.dispatcher().state().jobs(), before);
  EXPECT_EQ(*service.Send(Opening()), opened);
  EXPECT_THAT(service.Send(beat), IsOk());
}

TEST(RestartTest, AJournalOfSomethingElseIsAnError) {
  Dispatcher dispatcher({}, 7);
  EXPECT_THAT(
      dispatcher.Restore("", {R"({"lane_ended":{"job":4}})"}, absl::UnixEpoch()),
      StatusIs(kDataLoss));
  EXPECT_THAT(dispatcher.Restore("", {"?"}, absl::UnixEpoch()),
              StatusIs(kInvalidArgument));
  EXPECT_THAT(dispatcher.Restore("?", {}, absl::UnixEpoch()),
              StatusIs(kInvalidArgument));
}

// Else who has news of the one before would take none of this one's.
TEST(RestartTest, NewsAreNewerThoughTheClockWasSetBack) {
  Service service;
  service.Join(Facts(1));
  const api::ConsumerBeat beat = service.Start({Opening()})[0];
  int64_t before = service.Send(beat)->version;
  for (int restarts = 0; restarts < 3; ++restarts) {
    service.now -= absl::Hours(24);
    service.Restart();
    const int64_t version = service.Send(beat)->version;
    EXPECT_GT(version, before);
    before = version;
  }
}

TEST(RestartTest, NoLaneIsGivenAwayForTwoHeartbeats) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()})[0];
  beat.needs = Needs({5});
  service.Restart();
  service.Join(Facts(1));
  EXPECT_EQ(service.Placed(beat)[5], -1);
  service.Pass(absl::Milliseconds(1999), {1});
  EXPECT_EQ(service.Placed(beat)[5], -1);
  service.Pass(absl::Milliseconds(1), {1});
  EXPECT_EQ(service.Placed(beat)[5], 1);
}

TEST(RestartTest, WorkersKeepTheLanesTheyRun) {
  Service service;
  service.Join(Facts(1));
  service.Join(Facts(2));
  api::ConsumerBeat beat = service.Start({Opening()})[0];
  beat.needs = Needs({5});
  ASSERT_EQ(service.Placed(beat)[5], 1);
  service.Restart();
  service.Join(Facts(1));
  service.Join(Facts(2));
  service.Tell(2, {Report(5, 8)});
  EXPECT_EQ(service.Placed(beat)[5], 2) << "it says that it runs it";
  service.Pass(absl::Seconds(5), {1, 2});
  EXPECT_EQ(service.Placed(beat)[5], 2);
}

TEST(RestartTest, LanesThatWereReleasedAreNobodys) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()}, Listed(false))[0];
  beat.needs = Needs({5});
  service.Restart();
  service.Join(Facts(1));
  api::LaneReport report = Report(5, 10, true);
  report.released = true;
  service.Tell(1, {report});
  EXPECT_EQ(service.Placed(beat)[5], -1);
}

TEST(RestartTest, LaneEndsAreKnown) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()}, Listed(false))[0];
  beat.needs = Needs({5});
  service.Accept(beat);
  service.Tell(1, {Report(5, 10, true)});
  beat.version = service.Send(beat)->version;
  service.Pass(absl::Seconds(1), {1});
  service.Restart();
  EXPECT_THAT(service.Send(beat)->known, ElementsAre(api::KnownRows{{0, 5}, 10, true}));
}

TEST(RestartTest, ConsumersAreAskedOnceWhatTheyKnow) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()}, Listed(false))[0];
  beat.needs = Needs({5});
  const api::ConsumerNews before = *service.Send(beat);
  EXPECT_FALSE(before.tell_known) << "nothing was forgotten";
  beat.version = before.version;
  service.Pass(absl::Seconds(1), {1});
  service.Restart();
  const api::ConsumerNews asked = *service.Send(beat);
  EXPECT_TRUE(asked.tell_known);
  beat.version = asked.version;
  beat.known = {{{0, 5}, 8, false}};
  EXPECT_FALSE(service.Send(beat)->tell_known);
  beat.known = {};
  const api::ConsumerNews after = *service.Send(beat);
  EXPECT_FALSE(after.tell_known);
  EXPECT_THAT(after.known, ElementsAre(api::KnownRows{{0, 5}, 8, false}));
}

TEST(RestartTest, NobodyTakesOverFromAReaderNotHeardYet) {
  Service service;
  service.Join(Facts(1));
  const api::ConsumerBeat beat = service.Start({Opening()})[0];
  service.Restart();
  EXPECT_THAT(service.Send(OtherRun("slurm-2", 0)), StatusIs(kFailedPrecondition));
  service.Pass(absl::Seconds(1));
  ASSERT_THAT(service.Send(beat), IsOk());
  service.Pass(absl::Seconds(2));
  EXPECT_THAT(service.Send(OtherRun("slurm-2", 0)), StatusIs(kFailedPrecondition));
  service.Pass(absl::Seconds(2));
  EXPECT_THAT(service.Send(OtherRun("slurm-2", 0)), IsOk());
}

}  // namespace
}  // namespace millrace::control
