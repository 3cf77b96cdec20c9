#include "millrace/api/state.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/lane_set.h"
#include "millrace/lanes/state.h"

namespace millrace::api {
namespace {

lanes::State Example() {
  lanes::State state;
  state.pass = 2;
  state.epoch = 3;
  state.seed = ~uint64_t{0};
  state.row_fingerprint = base::Sha256Of("rows");
  state.manifest_hash = base::Sha256Of("files");
  state.cuts = {{.shuffled = true,
                 .chunk = {.rows = 5, .bytes = base::Bytes(6)},
                 .lane_rows = 40,
                 .exact_ends = true,
                 .lane_bytes = base::Bytes(9)},
                {.counted = false, .permuted = true, .by_chunk = true}};
  state.lanes = 100;
  state.order = {lanes::OrderKind::kFixed, 4};
  state.turn = 3;
  state.deal.first = {9, 4};
  state.deal.others = lanes::LaneSet::Of({10, 11, 12, 50});
  state.finished = lanes::LaneSet::Of({0, 1, 2, 7});
  state.cursors = {
      {.lane = 4, .rows = 12, .digest = lanes::Digest(base::Hash128{1, ~uint64_t{0}})},
      {.lane = 9, .rows = 1, .digest = {}}};
  state.carry = {{.track = 1, .from = {.lane = 3, .rows = 30, .digest = {}}}};
  return state;
}

std::string ErrorOf(const std::string& text) {
  const auto state = StateFromJson(text);
  return state.ok() ? "" : std::string(state.status().message());
}

// The example's JSON with one text in place of another.
std::string With(const std::string& old, const std::string& text) {
  std::string json = StateToJson(Example());
  const size_t place = json.find(old);
  EXPECT_NE(place, std::string::npos) << json;
  return json.replace(place, old.size(), text);
}

TEST(StateTest, ReadsWhatItWroteInAnyOrder) {
  lanes::State state = Example();
  state.order = {lanes::OrderKind::kAny, 1};
  lanes::LaneSet rows;
  rows.Add(4, 8);
  rows.Add(12, 13);
  state.taken = {{3, rows, 20}, {5, rows, -1}};
  state.step = 7;
  state.part = 1;
  state.parts = 2;
  EXPECT_EQ(*StateFromJson(StateToJson(state)), state);
}

TEST(StateTest, ReadsWhatItWroteOfLanesThatGiveRuns) {
  lanes::State state = Example();
  state.order.runs = true;
  state.run = {.left = 4, .key = 2, .carried = true};
  state.carry = {{.track = 1,
                  .from = {.lane = 3, .rows = 30, .digest = {}},
                  .end = 33,
                  .key = 2,
                  .batches = true}};
  EXPECT_EQ(*StateFromJson(StateToJson(state)), state);
  EXPECT_THAT(StateToJson(state), testing::HasSubstr("\"version\":2"))
      << "who does not know of runs would count otherwise";
}

TEST(StateTest, JoinsParts) {
  std::vector<std::string> parts;
  for (int64_t i = 0; i < 2; ++i) {
    lanes::State state;
    state.order.kind = lanes::OrderKind::kAny;
    state.lanes = 4;
    state.part = i;
    state.parts = 2;
    state.finished.Add(2 * i, 2 * i + 1);
    parts.push_back(StateToJson(state));
  }
  const auto joined = JoinStates(parts);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(StateFromJson(*joined)->finished, lanes::LaneSet::Of({0, 2}));
  EXPECT_FALSE(JoinStates({parts[0]}).ok());
  EXPECT_FALSE(JoinStates({"no state"}).ok());
}

TEST(StateTest, ReadsWhatItWrote) {
  EXPECT_EQ(*StateFromJson(StateToJson(Example())), Example());
}

TEST(StateTest, IsSmallAtTenThousandLanes) {
  lanes::State state = Example();
  state.lanes = 10'000;
  std::vector<int64_t> finished;
  for (int64_t lane = 0; lane < 10'000; ++lane) {
    if (lane < 9'000 || lane % 3 == 0) finished.push_back(lane);
  }
  state.finished = lanes::LaneSet::Of(finished);
  state.cursors.assign(64, {.lane = 9'001, .rows = 1 << 20, .digest = {}});
  EXPECT_LT(StateToJson(state).size(), size_t{64} << 10);
}

TEST(StateTest, ANewerVersionSaysSo) {
  EXPECT_THAT(ErrorOf(With(R"("version":1)", R"("version":3)")),
              testing::HasSubstr("a newer Millrace wrote it"));
}

TEST(StateTest, WhatContradictsItselfIsAnError) {
  EXPECT_THAT(ErrorOf(With(R"("finished":[0,3)", R"("finished":[3,0)")),
              testing::HasSubstr("must rise"));
  EXPECT_THAT(ErrorOf(With(R"("finished":[0,3,)", R"("finished":[0,)")),
              testing::HasSubstr("has no end"));
  EXPECT_THAT(ErrorOf(With(R"("order":"fixed")", R"("order":"wild")")),
              testing::HasSubstr("order must be"));
  EXPECT_THAT(ErrorOf(With("ffffffffffffffff\"", "zz\"")),
              testing::HasSubstr("32 hexadecimal digits"));
}

}  // namespace
}  // namespace millrace::api
