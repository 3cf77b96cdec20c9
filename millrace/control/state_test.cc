#include "millrace/control/state.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/status_matchers.h"
#include "millrace/control/events.h"

namespace millrace::control {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::Pair;

api::JobSettings Settings(const std::string& name = "train") {
  return {.name = name, .pipeline = "hash"};
}

Event Made(int64_t job, const std::string& name = "train") {
  return {.job_made = JobMade{job, Settings(name), 7}};
}

Event Begun(int64_t job, int64_t incarnation) {
  return {.run_begun = RunBegun{job, incarnation, {"run", 0, "a"}, Settings(), "{}"}};
}

Event Ended(int64_t incarnation, int64_t lane, int64_t rows) {
  return {.lane_ended = LaneEnded{1, incarnation, {0, lane}, rows}};
}

State After(const std::vector<Event>& events) {
  State state;
  for (const Event& event : events) EXPECT_THAT(state.Apply(event), IsOk());
  return state;
}

// One of everything.
std::vector<Event> Everything() {
  return {Made(1),
          {.job_listed = JobListed{1, {"sha", 10, true, 4, 64, true}}},
          Begun(1, 1),
          {.member_opened = MemberOpened{1, 0, 0, 1, 100, "a"}},
          {.member_opened = MemberOpened{1, 0, 1, 1, 101, "b"}},
          Made(2, "other"),
          Ended(1, 4, 40),
          Ended(1, 5, 50),
          {.lanes_passed = LanesPassed{1, 1, {{0, 4}}}},
          Made(3, "third"),
          {.job_forgotten = JobForgotten{2}}};
}

TEST(StateTest, AJobIsMade) {
  const State state = After({Made(1)});
  ASSERT_NE(state.Find(1), nullptr);
  EXPECT_EQ(state.Find(1)->settings, Settings());
  EXPECT_EQ(state.Find(1)->seed, 7);
  EXPECT_EQ(state.Find(1)->incarnation, 0) << "nobody has begun";
  EXPECT_EQ(state.Find(1)->facts, std::nullopt);
  EXPECT_EQ(state.Find(2), nullptr);
}

TEST(StateTest, JobsAreFoundByName) {
  const State state = After({Made(1), Made(2, "other")});
  EXPECT_EQ(state.Named("other"), 2);
  EXPECT_EQ(state.Named("train"), 1);
  EXPECT_EQ(state.Named("third"), 0);
}

TEST(StateTest, NumbersOfJobsAreNeverUsedAgain) {
  const State state =
      After({Made(1), Made(2, "other"), {.job_forgotten = JobForgotten{2}}});
  EXPECT_EQ(state.Find(2), nullptr);
  EXPECT_EQ(state.next_job(), 3);
}

TEST(StateTest, SourcesAreListed) {
  const api::JobFacts facts{"sha", 10, true, 4, 64, true};
  const State state = After({Made(1), {.job_listed = JobListed{1, facts}}});
  EXPECT_EQ(state.Find(1)->facts, facts);
}

TEST(StateTest, ARunBeginsWithItsSettingsAndState) {
  Event begun = Begun(1, 3);
  begun.run_begun->settings.consumers = 4;
  const State state = After({Made(1), begun});
  EXPECT_EQ(state.Find(1)->incarnation, 3);
  EXPECT_EQ(state.Find(1)->settings.consumers, 4);
  EXPECT_EQ(state.Find(1)->run, (api::RunName{"run", 0, "a"}));
  EXPECT_EQ(state.Find(1)->state, "{}");
}

TEST(StateTest, MembersHaveTheirLatestGeneration) {
  const State state = After({Made(1),
                             {.member_opened = MemberOpened{1, 0, 1, 1, 100, "a"}},
                             {.member_opened = MemberOpened{1, 0, 1, 2, 200, "b"}}});
  EXPECT_THAT(state.Find(1)->members,
              ElementsAre(Pair(MemberKey{0, 1}, MemberState{2, 200, "b"})));
}

TEST(StateTest, LaneEndsAreKeptUntilAllHavePassedThem) {
  State state = After({Made(1), Begun(1, 1), Ended(1, 4, 40), Ended(1, 5, 50)});
  const api::LaneEnd four{{0, 4}, 40};
  const api::LaneEnd five{{0, 5}, 50};
  EXPECT_THAT(state.Find(1)->ends,
              ElementsAre(Pair(four.at, four), Pair(five.at, five)));
  ASSERT_THAT(state.Apply({.lanes_passed = LanesPassed{1, 1, {{0, 4}}}}), IsOk());
  EXPECT_THAT(state.Find(1)->ends, ElementsAre(Pair(five.at, five)));
}

TEST(StateTest, LaneEndsAreOfOneIncarnation) {
  State state = After({Made(1), Begun(1, 1), Ended(1, 4, 40), Begun(1, 2)});
  EXPECT_TRUE(state.Find(1)->ends.empty()) << "another start, other rows";
  ASSERT_THAT(state.Apply(Ended(1, 4, 40)), IsOk());
  EXPECT_TRUE(state.Find(1)->ends.empty()) << "of the start before";
  ASSERT_THAT(state.Apply(Ended(2, 4, 41)), IsOk());
  ASSERT_THAT(state.Apply({.lanes_passed = LanesPassed{1, 1, {{0, 4}}}}), IsOk());
  EXPECT_EQ(state.Find(1)->ends.size(), 1);
}

TEST(StateTest, ARunOfOtherCopiesIsListedAnew) {
  const Event listed{.job_listed = JobListed{1, {.manifest = "sha"}}};
  Event other = Begun(1, 2);
  other.run_begun->copies = 2;
  const State state = After({Made(1), listed, Begun(1, 1), other});
  EXPECT_FALSE(state.Find(1)->facts.has_value());
  EXPECT_EQ(State::FromSnapshot(state.Snapshot())->Find(1)->copies, 2);
}

// Another pipeline reads other files: what was listed for the one before is not true
// of it.
TEST(StateTest, ARunOfAnotherPipelineIsListedAnew) {
  const Event listed{.job_listed = JobListed{1, {.manifest = "sha"}}};
  EXPECT_TRUE(After({Made(1), listed, Begun(1, 1)}).Find(1)->facts.has_value());
  Event other = Begun(1, 2);
  other.run_begun->settings.pipeline = "another";
  const State state = After({Made(1), listed, Begun(1, 1), other});
  EXPECT_FALSE(state.Find(1)->facts.has_value());
}

TEST(StateTest, AJournalThatSpeaksOfAnUnknownJobIsAnothers) {
  State state = After({Made(1)});
  for (const Event& event :
       std::vector<Event>{{.job_listed = JobListed{9, {}}},
                          Begun(9, 1),
                          {.member_opened = MemberOpened{.job = 9}},
                          {.lane_ended = LaneEnded{.job = 9}},
                          {.lanes_passed = LanesPassed{.job = 9}}}) {
    EXPECT_THAT(state.Apply(event),
                StatusIs(absl::StatusCode::kDataLoss,
                         "the journal speaks of a job that it never made: 9"));
  }
  EXPECT_EQ(state, After({Made(1)})) << "and nothing has changed";
}

TEST(StateTest, AnEventThatSaysNothingIsAnError) {
  State state;
  EXPECT_THAT(state.Apply({}), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(StateTest, ASnapshotIsReadAsItWasWritten) {
  const State state = After(Everything());
  const auto read = State::FromSnapshot(state.Snapshot());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, state);
  EXPECT_EQ(read->Snapshot(), state.Snapshot());
  EXPECT_EQ(read->next_job(), 4);
}

TEST(StateTest, NoSnapshotIsAnEmptyState) {
  EXPECT_EQ(*State::FromSnapshot(""), State());
  EXPECT_EQ(*State::FromSnapshot(State().Snapshot()), State());
  EXPECT_THAT(State::FromSnapshot("[]"), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Wherever the snapshot was taken, what follows it gives the same state, byte for byte.
TEST(StateTest, ReplayingTheJournalBehindAnySnapshotGivesTheSame) {
  const std::vector<Event> events = Everything();
  const State whole = After(events);
  for (int64_t taken = 0; taken <= std::ssize(events); ++taken) {
    const State before = After({events.begin(), events.begin() + taken});
    State state = *State::FromSnapshot(before.Snapshot());
    for (int64_t i = taken; i < std::ssize(events); ++i) {
      const auto event = FromLine(ToLine(events[i]));
      ASSERT_THAT(event, IsOk());
      ASSERT_THAT(state.Apply(*event), IsOk());
    }
    EXPECT_EQ(state, whole);
    EXPECT_EQ(state.Snapshot(), whole.Snapshot());
  }
}

}  // namespace
}  // namespace millrace::control
