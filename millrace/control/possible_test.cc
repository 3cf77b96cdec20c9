#include "millrace/control/possible.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/status_matchers.h"
#include "millrace/lanes/manifest.h"

namespace millrace::control {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

// What is wrong with a request after a change; empty: nothing.
template <typename Request, typename Change>
std::string Wrong(Request request, const Change& change) {
  change(request);
  const absl::Status status = CheckPossible(request);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(PossibleTest, WhatConsumersSayIsPossible) {
  api::ConsumerBeat beat{.pass = 3, .taken = 1'000'000'000};
  beat.needs = {{{4, 70'000'000, -3}, lanes::kRowsMax, true}};
  beat.known = {{{4, 0}, 1'000'000'000'000, true}};
  beat.waits_for = api::LaneAddress{4, 1};
  beat.passes = {{.pass = 4}};
  EXPECT_THAT(CheckPossible(beat), IsOk());
}

TEST(PossibleTest, AConsumersCountsHaveLimits) {
  using Beat = api::ConsumerBeat;
  for (const int64_t value : {int64_t{-1}, kLeast, kMost}) {
    const auto wrong = [&](const auto& change) { return Wrong(Beat(), change); };
    EXPECT_THAT(wrong([&](Beat& beat) { beat.pass = value; }), HasSubstr("pass"));
    EXPECT_THAT(wrong([&](Beat& beat) { beat.taken = value; }), HasSubstr("taken"));
    EXPECT_THAT(wrong([&](Beat& beat) { beat.waits_ms = value; }), HasSubstr("waits"));
    EXPECT_THAT(wrong([&](Beat& beat) { beat.passes = {{.pass = value}}; }),
                HasSubstr("pass"));
  }
}

TEST(PossibleTest, AConsumersLanesAndRowsHaveLimits) {
  using Beat = api::ConsumerBeat;
  for (const int64_t value : {int64_t{-1}, kLeast, kMost}) {
    const auto wrong = [&](const auto& change) { return Wrong(Beat(), change); };
    EXPECT_THAT(wrong([&](Beat& beat) { beat.needs = {{{0, value}}}; }),
                HasSubstr("lane"));
    EXPECT_THAT(wrong([&](Beat& beat) { beat.needs = {{{}, value}}; }),
                HasSubstr("row"));
    EXPECT_THAT(wrong([&](Beat& beat) { beat.left_out_rows = value; }),
                HasSubstr("row"));
    EXPECT_THAT(wrong([&](Beat& beat) { beat.known = {{{value}}}; }),
                HasSubstr("pass"));
    EXPECT_THAT(wrong([&](Beat& beat) { beat.known = {{{}, value}}; }),
                HasSubstr("row"));
    EXPECT_THAT(wrong([&](Beat& beat) { beat.waits_for = api::LaneAddress{0, value}; }),
                HasSubstr("lane"));
  }
}

api::WorkerBeat Joining() {
  api::WorkerBeat beat{.worker = 7};
  beat.facts = api::WorkerFacts{.worker = 7, .memory_bytes = int64_t{1} << 40};
  beat.facts->index = 2;
  beat.facts->of = 3;
  beat.lanes = {{.job = 1, .at = {3, 5, -2}, .rows = 1'000'000}};
  return beat;
}

TEST(PossibleTest, WhatWorkersSayIsPossible) {
  EXPECT_THAT(CheckPossible(Joining()), IsOk());
  EXPECT_THAT(CheckPossible(api::WorkerBeat{.worker = 1}), IsOk());
}

TEST(PossibleTest, AWorkersNumbersHaveLimits) {
  using Beat = api::WorkerBeat;
  const auto wrong = [](const auto& change) { return Wrong(Joining(), change); };
  EXPECT_THAT(wrong([](Beat& beat) { beat.worker = -1; }), HasSubstr("worker"));
  EXPECT_THAT(wrong([](Beat& beat) { beat.facts->worker = 8; }), HasSubstr("facts"));
  EXPECT_THAT(wrong([](Beat& beat) { beat.facts->of = kMost; }), HasSubstr("of"));
  EXPECT_THAT(wrong([](Beat& beat) { beat.facts->index = 3; }),
              HasSubstr("index must be 0 to 2, not 3"));
  EXPECT_THAT(wrong([](Beat& beat) { beat.facts->lanes_max = kMost; }),
              HasSubstr("lanes_max"));
  EXPECT_THAT(wrong([](Beat& beat) { beat.facts->memory_bytes = kMost; }),
              HasSubstr("memory_bytes"));
  EXPECT_THAT(wrong([](Beat& beat) { beat.lanes[0].at.lane = -1; }), HasSubstr("lane"));
  EXPECT_THAT(wrong([](Beat& beat) { beat.lanes[0].rows = kMost; }), HasSubstr("row"));
}

TEST(PossibleTest, WhatIsListedHasLimits) {
  using Facts = api::JobFacts;
  EXPECT_THAT(CheckPossible(Facts{.lanes = -1, .rows = -1}), IsOk());
  EXPECT_THAT(CheckPossible(Facts{.batch_rows = 0}),
              StatusIs(kInvalidArgument, HasSubstr("batch_rows must be 1 to")));
  EXPECT_THAT(CheckPossible(Facts{.lanes = -2}), StatusIs(kInvalidArgument));
  EXPECT_THAT(CheckPossible(Facts{.lane_bytes = kMost}), StatusIs(kInvalidArgument));
  EXPECT_THAT(CheckPossible(Facts{.rows = kLeast}), StatusIs(kInvalidArgument));
}

}  // namespace
}  // namespace millrace::control
