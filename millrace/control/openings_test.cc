#include "millrace/control/openings.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/hash.h"
#include "millrace/base/status_matchers.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/state.h"

namespace millrace::control {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::StatusIs;

api::OpenJob Opening(int64_t consumer, int64_t consumers) {
  api::OpenJob open{.settings = {.name = "train", .pipeline = "hash"}};
  open.settings.consumers = consumers;
  open.run = {"slurm-1", 0, "a"};
  open.consumer = consumer;
  return open;
}

// A state some way into a pass; each rank knows digests of the lanes that it has read.
std::string StateAt(int64_t row, uint64_t digest = 0) {
  lanes::State state;
  state.lanes = 2;
  state.cursors = {{0, row, lanes::Digest(base::Hash128{digest, digest})}};
  return api::StateToJson(state);
}

TEST(OpeningsTest, NamesWhoHasNotComeYet) {
  Openings openings;
  EXPECT_EQ(openings.Missing(Opening(0, 3)),
            "consumers that have not opened yet, of 3: 0, 1, 2");
  ASSERT_THAT(openings.Add(Opening(1, 3)), IsOk());
  EXPECT_EQ(openings.Missing(Opening(1, 3)),
            "consumers that have not opened yet, of 3: 0, 2");
  ASSERT_THAT(openings.Add(Opening(0, 3)), IsOk());
  ASSERT_THAT(openings.Add(Opening(2, 3)), IsOk());
  EXPECT_EQ(openings.Missing(Opening(2, 3)), "");
}

TEST(OpeningsTest, EveryMemberOfAConsumerMustCome) {
  api::OpenJob open = Opening(0, 2);
  open.settings.members = 2;
  open.member = 1;
  Openings openings;
  ASSERT_THAT(openings.Add(open), IsOk());
  EXPECT_EQ(openings.Missing(open),
            "consumers that have not opened yet, of 2: 0 (member 0), 1 (member 0), "
            "1 (member 1)");
}

TEST(OpeningsTest, GivesAllWhoHaveComeAndForgetsThem) {
  Openings openings;
  for (int64_t i = 0; i < 2; ++i) ASSERT_THAT(openings.Add(Opening(i, 2)), IsOk());
  const auto complete = openings.Take(Opening(1, 2));
  ASSERT_THAT(complete, IsOk());
  EXPECT_EQ(complete->members.size(), 2);
  EXPECT_EQ(complete->members.at({1, 0}), Opening(1, 2));
  EXPECT_EQ(complete->state, "");
  EXPECT_EQ(openings.Missing(Opening(1, 2)),
            "consumers that have not opened yet, of 2: 0, 1");
}

TEST(OpeningsTest, RunsDoNotMix) {
  api::OpenJob restarted = Opening(0, 2);
  restarted.run.restart = 1;
  api::OpenJob another = Opening(0, 2);
  another.run.id = "slurm-2";
  Openings openings;
  ASSERT_THAT(openings.Add(restarted), IsOk());
  ASSERT_THAT(openings.Add(another), IsOk());
  ASSERT_THAT(openings.Add(Opening(1, 2)), IsOk());
  EXPECT_EQ(openings.Missing(Opening(1, 2)),
            "consumers that have not opened yet, of 2: 0");
}

TEST(OpeningsTest, ALaterOpeningReplacesTheOneBefore) {
  Openings openings;
  ASSERT_THAT(openings.Add(Opening(0, 2)), IsOk());
  api::OpenJob later = Opening(0, 2);
  later.opening = 7;
  ASSERT_THAT(openings.Add(later), IsOk());
  ASSERT_THAT(openings.Add(Opening(1, 2)), IsOk());
  EXPECT_EQ(openings.Take(later)->members.at({0, 0}).opening, 7);
}

// A rank that was started again with other settings is no other rank.
TEST(OpeningsTest, ALaterOpeningMayDifferFromTheOneItReplaces) {
  Openings openings;
  ASSERT_THAT(openings.Add(Opening(0, 2)), IsOk());
  api::OpenJob later = Opening(0, 2);
  later.settings.remainder = "drop";
  EXPECT_THAT(openings.Add(later), IsOk());
}

TEST(OpeningsTest, SettingsOfOneRunMustAgree) {
  Openings openings;
  ASSERT_THAT(openings.Add(Opening(0, 2)), IsOk());
  api::OpenJob other = Opening(1, 2);
  other.settings.remainder = "drop";
  EXPECT_THAT(openings.Add(other),
              StatusIs(kInvalidArgument,
                       "consumers of one run differ in remainder: \"\" and \"drop\""));
  EXPECT_EQ(openings.Missing(other), "consumers that have not opened yet, of 2: 1");
}

// What a run begins with when its two ranks load these states.
absl::StatusOr<std::string> Begun(const std::string& first, const std::string& second) {
  Openings openings;
  api::OpenJob one = Opening(0, 2);
  one.state = first;
  api::OpenJob other = Opening(1, 2);
  other.state = second;
  EXPECT_THAT(openings.Add(one), IsOk());
  EXPECT_THAT(openings.Add(other), IsOk());
  const auto complete = openings.Take(other);
  if (!complete.ok()) return complete.status();
  return complete->state;
}

TEST(OpeningsTest, RanksOfOneStepGoOnTogether) {
  EXPECT_EQ(*Begun(StateAt(10), StateAt(10)), StateAt(10));
  EXPECT_EQ(*Begun(StateAt(10, 1), StateAt(10, 2)), StateAt(10, 1))
      << "digests are those of whoever read the lane";
}

TEST(OpeningsTest, StatesOfDifferentStepsAreAnError) {
  EXPECT_THAT(
      Begun(StateAt(10), StateAt(12)),
      StatusIs(kInvalidArgument,
               "consumers 0 and 1 load states of different steps: load those of "
               "one checkpoint"));
}

TEST(OpeningsTest, EitherAllRanksLoadAStateOrNone) {
  EXPECT_THAT(Begun(StateAt(10), ""),
              StatusIs(kInvalidArgument,
                       "consumers 0 and 1 do not both load a state: either all ranks "
                       "load one, or none"));
}

TEST(OpeningsTest, WhatIsNoStateIsAnError) {
  EXPECT_THAT(Begun("{", StateAt(1)), StatusIs(kInvalidArgument));
}

TEST(OpeningsTest, OfManyRunsTheOldestIsForgotten) {
  Openings openings;
  api::OpenJob open = Opening(0, 2);
  ASSERT_THAT(openings.Add(open), IsOk());
  const auto open_others = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      api::OpenJob other = Opening(0, 2);
      other.run.restart = ++open.run.restart;
      ASSERT_THAT(openings.Add(other), IsOk());
    }
  };
  api::OpenJob last = Opening(1, 2);
  open_others(15);
  EXPECT_EQ(openings.Missing(last), "consumers that have not opened yet, of 2: 1");
  open_others(1);
  EXPECT_EQ(openings.Missing(last), "consumers that have not opened yet, of 2: 0, 1");
  last.run.restart = open.run.restart;
  EXPECT_EQ(openings.Missing(last), "consumers that have not opened yet, of 2: 1");
}

TEST(OpeningsTest, OfManyThatAreMissingSomeAreNamed) {
  EXPECT_EQ(Openings().Missing(Opening(0, 1 << 16)),
            "consumers that have not opened yet, of 65536: 0, 1, 2, 3, 4, 5, 6, 7, 8, "
            "9, 10, 11, 12, 13, 14, 15, and 65520 more");
}

}  // namespace
}  // namespace millrace::control
