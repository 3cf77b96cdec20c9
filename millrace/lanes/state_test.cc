#include "millrace/lanes/state.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/random.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/lane_set.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

constexpr OrderRecord kLogical{OrderKind::kLogical, 1};

OrderRecord Fixed(int64_t tracks) { return {OrderKind::kFixed, tracks}; }

const std::vector<int64_t>& LaneRows() {
  static const auto& rows = *new std::vector<int64_t>{5, 5, 3, 6, 4};
  return rows;
}

// The state of a pass over LaneRows after some batches of 2 in fixed order, two tracks.
State After(int64_t taken) {
  State state;
  state.order = Fixed(2);
  const auto order = MakeOrder(OrderKind::kFixed, DealAll(LaneRows(), 2), {.rows = 2});
  SetRest(state, order->After(taken), std::ssize(LaneRows()));
  return state;
}

// --- What is written down ---

TEST(StateTest, HasNothingAtTheStart) {
  const State state = After(0);
  EXPECT_EQ(state.lanes, 5);
  EXPECT_EQ(state.turn, 0);
  EXPECT_EQ(state.finished, LaneSet());
  EXPECT_TRUE(state.cursors.empty());
  EXPECT_TRUE(state.carry.empty());
}

TEST(StateTest, HasCursorsOfOpenLanes) {
  // a: 5, b: 5, c: 3, d: 6, e: 4 rows: aa bb aa
  const State state = After(3);
  EXPECT_EQ(state.turn, 1);
  EXPECT_EQ(state.finished, LaneSet());
  EXPECT_EQ(state.cursors, (std::vector<Cursor>{{0, 4, {}}, {1, 2, {}}}));
  EXPECT_TRUE(state.carry.empty());
}

TEST(StateTest, HasTheCarry) {
  const State state = After(5);  // aa bb aa bb cc: one a is carried.
  EXPECT_EQ(state.cursors, (std::vector<Cursor>{{1, 4, {}}, {2, 2, {}}}));
  EXPECT_EQ(state.carry, (std::vector<CarryPiece>{{0, {0, 4, {}}}}));
}

TEST(StateTest, HasFinishedLanes) {
  const State state = After(7);  // aa bb aa bb cc dd ac: one b is carried.
  EXPECT_EQ(state.finished.ToString(), "0 2");
  EXPECT_EQ(state.cursors, (std::vector<Cursor>{{3, 2, {}}}));
  EXPECT_EQ(state.carry, (std::vector<CarryPiece>{{1, {1, 4, {}}}}));
}

TEST(StateTest, IsAllFinishedAtTheEnd) {
  const auto order = MakeOrder(OrderKind::kFixed, DealAll(LaneRows(), 2), {.rows = 2});
  const State state = After(order->positions());
  EXPECT_EQ(state.finished.ToString(), "0-4");
  EXPECT_TRUE(state.cursors.empty());
  EXPECT_TRUE(state.carry.empty());
  EXPECT_EQ(GetRest(state, LaneRows())->rows(), 0);
}

TEST(StateTest, KeepsRowsThatWereDropped) {
  State state;
  const auto order = MakeOrder(OrderKind::kLogical, DealAll({5}, 1),
                               {.rows = 2, .drop_remainder = true});
  SetRest(state, order->After(2), 1);
  EXPECT_EQ(state.cursors, (std::vector<Cursor>{{0, 4, {}}}));
  EXPECT_EQ(state.finished, LaneSet());
}

TEST(StateTest, CountsLanesWithoutRowsAsFinished) {
  State state;
  SetRest(state, DealAll({0, 3}, 1), 2);
  EXPECT_EQ(state.finished.ToString(), "0");
}

TEST(StateTest, ReadsNoEmptyRangesWhereALaneHasNoRows) {
  State state;
  SetRest(state, DealAll({0, 3}, 1), 2);
  state.finished = LaneSet();  // As another writer might have it.
  EXPECT_THAT(GetRest(state, {0, 3}), IsOkAndHolds(DealAll({0, 3}, 1)));
}

TEST(StateTest, ForgetsWhatItHadBefore) {
  State state = After(5);
  const auto order = MakeOrder(OrderKind::kFixed, DealAll(LaneRows(), 2), {.rows = 2});
  SetRest(state, order->After(3), std::ssize(LaneRows()));
  EXPECT_EQ(state, After(3));
}

TEST(StateTest, NeedsTheTracksOfItsOrder) {
  State state;
  EXPECT_DEATH(SetRest(state, DealAll(LaneRows(), 2), 5), "tracks");
}

// --- Reading it back ---

TEST(StateTest, ReadsBackWhatItWrote) {
  const auto order = MakeOrder(OrderKind::kFixed, DealAll(LaneRows(), 2), {.rows = 2});
  for (int64_t taken = 0; taken <= order->positions(); ++taken) {
    EXPECT_THAT(GetRest(After(taken), LaneRows()), IsOkAndHolds(order->After(taken)));
  }
}

TEST(StateTest, ReadsBackAnyRest) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    base::Generator random(base::RandomKey(seed, 0, 0), {});
    std::vector<int64_t> lane_rows(random.Integer(0, 20));
    for (int64_t& rows : lane_rows) rows = random.Integer(0, 12);
    Rest rest = DealAll(lane_rows, random.Integer(1, 6));
    for (int64_t run = random.Integer(1, 4); run > 0; --run) {  // Deal over and over.
      const auto order =
          MakeOrder(OrderKind::kFixed, rest, {.rows = random.Integer(1, 8)});
      rest = order->After(random.Integer(0, order->positions() + 1));
      State state;
      state.order = Fixed(std::ssize(rest.tracks));
      SetRest(state, rest, std::ssize(lane_rows));
      ASSERT_THAT(GetRest(state, lane_rows), IsOkAndHolds(rest)) << "seed " << seed;
      rest = DealAnew(rest, random.Integer(1, 6));
    }
  }
}

TEST(StateTest, GoesOnInItsOwnOrderUnchanged) {
  EXPECT_EQ(*Resume(After(5), LaneRows(), Fixed(2)), *GetRest(After(5), LaneRows()));
}

TEST(StateTest, DealsAnewForAnotherOrder) {
  const Rest rest = *GetRest(After(5), LaneRows());
  EXPECT_EQ(*Resume(After(5), LaneRows(), Fixed(3)), DealAnew(rest, 3));
  EXPECT_EQ(*Resume(After(5), LaneRows(), kLogical), DealAnew(rest, 1));
}

// One track in fixed order carries tails over; logical order does not.
TEST(StateTest, DealsAnewFromOneTrackToLogicalOrder) {
  State state;
  state.order = Fixed(1);
  const auto order = MakeOrder(OrderKind::kFixed, DealAll(LaneRows(), 1), {.rows = 2});
  SetRest(state, order->After(3), std::ssize(LaneRows()));  // aa aa bb: a is carried.
  const absl::StatusOr<Rest> rest = Resume(state, LaneRows(), kLogical);
  ASSERT_THAT(rest, IsOk());
  EXPECT_TRUE(rest->tracks[0].carry.empty());
  EXPECT_EQ(rest->tracks[0].lanes[0], (LaneRange{0, 4, 5}));
  EXPECT_EQ(rest->tracks[0].lanes[1], (LaneRange{1, 2, 5}));
}

// --- States that contradict themselves ---

TEST(StateTest, RefusesWhatCannotBe) {
  struct Case {
    std::function<void(State&)> spoil;
    std::string message;
  };

  const std::vector<Case> cases = {
      {[](State& s) { s.lanes = 6; }, "it has 6 lanes, the job has 5"},
      {[](State& s) { s.order.tracks = 0; }, "absurd number of tracks: 0"},
      {[](State& s) { s.order.tracks = INT64_MAX; }, "absurd number of tracks"},
      {[](State& s) { s.order.kind = OrderKind::kLogical; }, "absurd number of tracks"},
      {[](State& s) { s.order = kLogical; }, "a carry in logical order"},
      {[](State& s) { s.turn = 2; }, "no such track for turn: 2 of 2"},
      {[](State& s) { s.turn = -1; }, "no such track for turn: -1 of 2"},
      {[](State& s) { s.finished.Add(5, 6); }, "no such lane in finished: 5 to 5"},
      {[](State& s) { s.finished.Add(-3, 0); }, "no such lane in finished: -3 to"},
      {[](State& s) { s.finished.Add(0, INT64_MAX); }, "no such lane in finished"},
      {[](State& s) { s.finished.Add(2, 3); }, "lane twice, at lane 2 row 2"},
      {[](State& s) { s.cursors[0].lane = 9; }, "no such lane for lane 9"},
      {[](State& s) { s.cursors[0].lane = -1; }, "no such lane for lane -1"},
      {[](State& s) { s.cursors[0].rows = 5; }, "no such row, at lane 1 row 5"},
      {[](State& s) { s.cursors[0].rows = -1; }, "no such row, at lane 1 row -1"},
      {[](State& s) { s.cursors[1] = s.cursors[0]; }, "lane twice, at lane 1"},
      {[](State& s) { s.carry[0].track = 2; }, "no such track for carry: 2 of 2"},
      {[](State& s) { s.carry[0].track = -1; }, "no such track for carry: -1 of 2"},
      {[](State& s) { s.carry[0].track = 1; },
       "carry of track 1 has lane 0 of track 0"},
      {[](State& s) { s.carry[0].from.rows = 5; }, "no such row, at lane 0 row 5"},
      {[](State& s) { s.carry.push_back(s.carry[0]); }, "lane twice, at lane 0"},
      {[](State& s) { s.deal.first = {7}; }, "no such lane in the deal: 7"},
      {[](State& s) { s.deal.first = {0}; }, "lane dealt twice: 0"},
      {[](State& s) { s.deal.others.Add(0, INT64_MAX); },
       "no such lane in the deal: 5"},
      {[](State& s) { s.deal = {}; }, "lane 0 is neither finished nor dealt"},
  };
  ASSERT_THAT(GetRest(After(5), LaneRows()), IsOk());
  for (const Case& c : cases) {
    State state = After(5);
    c.spoil(state);
    EXPECT_THAT(GetRest(state, LaneRows()),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.message)));
    EXPECT_THAT(Resume(state, LaneRows(), kLogical),
                StatusIs(StatusCode::kInvalidArgument));
  }
}

// A number of a state, chosen at random, to be spoilt.
int64_t& AnyNumber(State& state, base::Generator& random) {
  std::vector<int64_t*> numbers = {&state.lanes, &state.turn, &state.order.tracks};
  for (int64_t& lane : state.deal.first) numbers.push_back(&lane);
  for (Cursor& cursor : state.cursors) {
    numbers.push_back(&cursor.lane);
    numbers.push_back(&cursor.rows);
  }
  for (CarryPiece& piece : state.carry) {
    numbers.push_back(&piece.track);
    numbers.push_back(&piece.from.lane);
    numbers.push_back(&piece.from.rows);
  }
  return *numbers[random.Integer(0, std::ssize(numbers))];
}

// Whatever is read is either refused or can be gone on with, and never has a row twice.
TEST(StateTest, NeverGoesOnFromNonsense) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    base::Generator random(base::RandomKey(seed, 0, 0), {});
    State state = After(random.Integer(0, 12));
    if (random.Integer(0, 2) == 0) {
      state.order = Fixed(3);
      SetRest(state, DealAnew(*GetRest(After(5), LaneRows()), 3), 5);
    }
    for (int64_t i = random.Integer(1, 4); i > 0; --i) {
      AnyNumber(state, random) =
          random.Integer(0, 5) == 0 ? INT64_MIN : random.Integer(-1, 8);
    }
    const absl::StatusOr<Rest> rest = GetRest(state, LaneRows());
    if (!rest.ok()) continue;
    std::vector<int64_t> lanes;
    for (const Track& track : rest->tracks) {
      for (const auto* ranges : {&track.carry, &track.lanes}) {
        for (const LaneRange& range : *ranges) {
          lanes.push_back(range.lane);
          ASSERT_GT(range.rows(), 0) << "seed " << seed;
          ASSERT_EQ(range.end, LaneRows()[range.lane]) << "seed " << seed;
        }
      }
    }
    ASSERT_EQ(LaneSet::Of(lanes).size(), lanes.size()) << "seed " << seed;
    const auto order = MakeOrder(state.order.kind, *rest, {.rows = 2});
    EXPECT_EQ(order->After(order->positions()).rows(), 0) << "seed " << seed;
  }
}

// --- Does it fit ---

State Recorded() {
  State state;
  state.seed = 7;
  state.row_fingerprint = base::Sha256Of("rows");
  state.manifest_hash = base::Sha256Of("manifest");
  state.cuts = {{.shuffled = true, .lane_rows = 512, .exact_ends = true}};
  return state;
}

JobFacts FactsOf(const State& state) {
  return {state.row_fingerprint, state.manifest_hash, state.seed, state.cuts};
}

TEST(StateTest, FitsItsOwnJob) {
  EXPECT_THAT(Fits(Recorded(), FactsOf(Recorded())), IsOk());
}

TEST(StateTest, FitsAJobThatHasNoSeedOrCutOfItsOwn) {
  JobFacts job = FactsOf(Recorded());
  job.seed.reset();
  job.cuts.reset();
  EXPECT_THAT(Fits(Recorded(), job), IsOk());
}

TEST(StateTest, NamesTheFirstDifference) {
  struct Case {
    std::function<void(JobFacts&)> change;
    std::string message;
  };

  const std::string manifest = base::ToHex(base::Sha256Of("manifest"));
  const std::string other = base::ToHex(base::Sha256Of("other"));
  const std::vector<Case> cases = {
      {[](JobFacts& j) { j.row_fingerprint = {}; }, "row fingerprint differs"},
      {[](JobFacts& j) { j.manifest_hash = base::Sha256Of("other"); },
       "manifest hash differs: the state has " + manifest + ", the job has " + other},
      {[](JobFacts& j) { j.seed = 8; }, "seed differs: the state has 7, the job has 8"},
      {[](JobFacts& j) { j.cuts->front().counted = false; },
       "counted differs: the state has yes, the job has no"},
      {[](JobFacts& j) { j.cuts->front().shuffled = false; }, "shuffled differs"},
      {[](JobFacts& j) { j.cuts->front().chunk.rows = 9; },
       "rows per chunk differs: the state has 1024, the job has 9"},
      {[](JobFacts& j) { j.cuts->front().chunk.bytes = base::Bytes(5); },
       "bytes per chunk differs: the state has 16777216, the job has 5"},
      {[](JobFacts& j) { j.cuts->front().lane_rows = 256; },
       "rows per lane differs: the state has 512, the job has 256"},
      {[](JobFacts& j) { j.cuts->front().exact_ends = false; },
       "exact lane ends differs"},
  };
  for (const Case& c : cases) {
    JobFacts job = FactsOf(Recorded());
    c.change(job);
    EXPECT_THAT(Fits(Recorded(), job),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("does not fit"), HasSubstr(c.message))));
  }
}

TEST(StateTest, NamesThePipelineBeforeTheFiles) {
  JobFacts job = FactsOf(Recorded());
  job.manifest_hash = {};
  job.row_fingerprint = {};
  EXPECT_THAT(Fits(Recorded(), job).message(), HasSubstr("row fingerprint"));
}

// --- The whole way, from a listing to a state and back ---

TEST(StateTest, GoesOnFromAListingAndAState) {
  const Manifest manifest{{{.name = "range",
                            .bytes = base::Bytes(0),
                            .version = "",
                            .rows = 10'000,
                            .seekable = true}}};
  State state;
  state.seed = 7;
  state.manifest_hash = ContentHash(manifest);
  state.cuts = {*DecideCut(manifest, {.batch_rows = 32, .shuffled = true})};
  state.order = Fixed(16);
  const auto lanes_of = [&](const CutRecord& cut) {
    return *LaneList::Cut(manifest, cut, base::RandomKey(state.seed, state.epoch, 0));
  };
  const LaneList lanes = lanes_of(state.cuts[0]);
  const auto whole =
      MakeOrder(OrderKind::kFixed, DealAll(lanes.lane_rows(), 16), {.rows = 32});
  SetRest(state, whole->After(100), lanes.size());

  ASSERT_THAT(Fits(state, {state.row_fingerprint, ContentHash(manifest), {}, {}}),
              IsOk());
  const LaneList again = lanes_of(state.cuts[0]);
  const auto rest = MakeOrder(
      OrderKind::kFixed, *Resume(state, again.lane_rows(), Fixed(16)), {.rows = 32});
  ASSERT_EQ(rest->positions(), whole->positions() - 100);
  for (int64_t position = 0; position < rest->positions(); ++position) {
    EXPECT_EQ(rest->At(position), whole->At(position + 100));
  }
  const int64_t lane = rest->At(0)[0].lane;
  EXPECT_EQ(again.Content(lane), lanes.Content(lane));
}

// --- For people ---

TEST(StateTest, WritesItselfForPeople) {
  State state = After(7);
  state.pass = 3;
  state.epoch = 2;
  state.seed = 7;
  state.cuts = {{.shuffled = true, .lane_rows = 512, .exact_ends = true}};
  state.deal.first = {4, 1};
  const std::string zeros(32, '0');
  EXPECT_EQ(ToString(state),
            "pass 3 epoch 2 seed 7\n"
            "row fingerprint " +
                zeros + zeros +
                "\n"
                "manifest " +
                zeros + zeros +
                "\n"
                "cut chunks of 1024 rows or 16777216 bytes, lanes of 512 rows exactly, "
                "shuffled, counted\n"
                "order fixed, 2 tracks, turn 1\n"
                "dealt first 4 1\n"
                "finished 2 of 5 lanes: 0 2\n"
                "open lane 3 row 2 digest " +
                zeros +
                "\n"
                "carry track 1 lane 1 row 4 digest " +
                zeros + "\n");
}

TEST(StateTest, WritesLogicalOrderWithoutTracks) {
  EXPECT_THAT(ToString(State()), HasSubstr("order logical\n"));
}

}  // namespace
}  // namespace millrace::lanes
