#include "millrace/control/resuming.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/status_matchers.h"
#include "millrace/control/dispatcher_test.h"
#include "millrace/control/state.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"

namespace millrace::control {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::HasSubstr;

// In any order: what one of two consumers took of a lane.
std::string Part(int64_t consumer, int64_t pass, const lanes::LaneRange& rows) {
  lanes::State state;
  state.pass = pass;
  state.lanes = 3;
  state.order.kind = lanes::OrderKind::kAny;
  state.part = consumer;
  state.parts = 2;
  state.step = consumer;  // They need not be at the same.
  lanes::Taken taken;
  taken.Add(rows);
  lanes::SetTaken(state, taken);
  return api::StateToJson(state);
}

std::string Fixed(int64_t pass, int64_t turn) {
  lanes::State state;
  state.pass = pass;
  state.order = {lanes::OrderKind::kFixed, 4};
  state.turn = turn;
  return api::StateToJson(state);
}

TEST(ResumingTest, WhatNobodyToldIsWhereItBegan) {
  EXPECT_THAT(LastTold({}), IsOkAndHolds(""));
  EXPECT_THAT(LastTold({.state = "as it began"}), IsOkAndHolds("as it began"));
}

TEST(ResumingTest, InFixedOrderOneTellsForAll) {
  EXPECT_THAT(LastTold({.told = {{0, Fixed(2, 3)}}}), IsOkAndHolds(Fixed(2, 3)));
}

TEST(ResumingTest, InAnyOrderWhatAllTookIsJoined) {
  const auto told =
      LastTold({.told = {{0, Part(0, 1, {0, 0, 8})}, {1, Part(1, 1, {2, 4, 8})}}});
  ASSERT_THAT(told, IsOk());
  const auto state = api::StateFromJson(*told);
  ASSERT_THAT(state, IsOk());
  EXPECT_EQ(state->parts, 1);
  EXPECT_EQ(state->taken.size(), 2);
}

TEST(ResumingTest, WhoWasAPassAheadTakesAgain) {
  const auto told =
      LastTold({.told = {{0, Part(0, 2, {0, 0, 8})}, {1, Part(1, 1, {2, 4, 8})}}});
  ASSERT_THAT(told, IsOk());
  const auto state = api::StateFromJson(*told);
  ASSERT_THAT(state, IsOk());
  EXPECT_EQ(state->pass, 1);
  EXPECT_EQ(state->taken.size(), 1);
}

// A consumer opens a job, tells where it is, and is gone; the next run resumes.
TEST(ResumingTest, ANewRunGoesOnFromWhatWasToldLastEvenByALostDispatcher) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()}).front();
  beat.state = Fixed(0, 2);
  service.Accept(beat);
  beat.state = Fixed(0, 3);
  beat.leaves = true;
  service.Accept(beat);
  service.Restart();
  api::OpenJob again = Opening();
  const auto begun_with = [&](bool resume) {
    ++again.opening;
    ++again.run.restart;
    again.resume = resume;
    return service.Send(again)->state;
  };
  EXPECT_EQ(begun_with(true), Fixed(0, 3));
  EXPECT_EQ(begun_with(true), Fixed(0, 3)) << "nothing was told since";
  EXPECT_EQ(begun_with(false), "") << "from the start";
}

TEST(ResumingTest, EitherAllRanksResumeOrNone) {
  Service service;
  api::OpenJob first = Opening(0, 2);
  first.resume = true;
  service.Accept(first);
  EXPECT_THAT(service.Send(Opening(1, 2)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("all ranks")));
}

TEST(ResumingTest, AStateOfAbsurdlyManyLanesIsAnErrorNotMemory) {
  for (const int64_t lanes : {int64_t{-1}, int64_t{1} << 40}) {
    lanes::State state;
    state.lanes = lanes;
    lanes::SetTaken(state, {});
    JobState job;
    job.told[0] = api::StateToJson(state);
    EXPECT_THAT(LastTold(job),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("so many lanes")));
  }
}

}  // namespace
}  // namespace millrace::control
