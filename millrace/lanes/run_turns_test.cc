#include "millrace/lanes/run_turns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/positions.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"

namespace millrace::lanes {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Positions::Kind;
using Taken = std::vector<std::vector<LaneRange>>;  // By position.

// A pass whose lanes give runs, and what comes out of each.
struct Truth {
  Runs runs;
  std::vector<KnownLane> lanes;

  int64_t KeyOf(int64_t lane, int64_t unit) const {
    const KnownLane& known = lanes[lane];
    int64_t begin = known.before_tails();
    if (unit < begin) return (lane + unit / runs.group) % std::ssize(runs.sizes);
    for (int64_t key = 0; key < std::ssize(known.tails); ++key) {
      begin += known.tails[key];
      if (unit < begin) return key;
    }
    return -1;
  }

  KnownLanes All() const {
    KnownLanes all;
    for (int64_t lane = 0; lane < std::ssize(lanes); ++lane) {
      EXPECT_THAT(all.Learn(lane, lanes[lane]), IsOk());
    }
    return all;
  }

  Rest Whole(int64_t tracks) const {
    return DealAll(std::vector<int64_t>(lanes.size(), kRowsMax), tracks);
  }

  Batching For(int64_t consumers, bool drops = false) const {
    Batching batching{.rows = 1, .runs = runs};
    batching.runs->consumers = consumers;
    batching.runs->whole_rounds = drops;
    return batching;
  }
};

base::Generator Seeded(uint64_t seed) {
  return base::Generator(base::RandomKey(seed, 0, 0), {});
}

Truth RandomTruth(base::Generator& random) {
  constexpr int64_t kGroups[] = {2, 4, 6, 12};
  Truth truth;
  truth.runs.group = kGroups[random.Integer(0, 4)];
  truth.runs.sizes.resize(random.Integer(1, 4));
  for (int64_t& size : truth.runs.sizes) size = random.Integer(1, 4);
  truth.lanes.resize(random.Integer(0, 9));
  for (KnownLane& lane : truth.lanes) {
    lane = {truth.runs.group * random.Integer(0, 4), true};
    for (const int64_t size : truth.runs.sizes) {
      lane.tails.push_back(random.Integer(0, size * truth.runs.group));
      lane.rows += lane.tails.back();
    }
  }
  return truth;
}

// Some number of consumers that divides the group.
int64_t SomeConsumers(const Truth& truth, base::Generator& random) {
  int64_t consumers = random.Integer(1, 13);
  while (truth.runs.group % consumers != 0) --consumers;
  return consumers;
}

Taken TakeAll(RunTurns& turns, const KnownLanes& known) {
  Taken taken;
  while (true) {
    Positions::Step step = turns.Next(known);
    if (step.kind != Kind::kBatch) return taken;
    taken.push_back(std::move(step.rows));
  }
}

// In every round all are of one key, nothing is taken twice, and only the last batch of
// a key may be short, or missing.
void CheckRounds(const Truth& truth, const Taken& taken, int64_t consumers,
                 std::set<std::pair<int64_t, int64_t>>& seen) {
  ASSERT_EQ(taken.size() % consumers, 0);
  std::set<int64_t> over;  // Keys that came to their end.
  int64_t key = -1;
  for (size_t position = 0; position < taken.size(); ++position) {
    if (position % consumers == 0) key = -1;
    int64_t rows = 0;
    bool whole = false;
    for (const LaneRange& range : taken[position]) {
      whole = range.begin < truth.lanes[range.lane].before_tails();
      for (int64_t unit = range.begin; unit < range.end; ++unit) {
        ASSERT_TRUE(seen.emplace(range.lane, unit).second) << "taken twice";
        if (key < 0) key = truth.KeyOf(range.lane, unit);
        ASSERT_EQ(truth.KeyOf(range.lane, unit), key) << "two keys in a round";
      }
      ASSERT_TRUE(!whole || (taken[position].size() == 1 && range.rows() == 1));
      rows += range.rows();
    }
    ASSERT_GE(key, 0) << "a round of nothing";
    ASSERT_TRUE(rows == 0 || !over.contains(key)) << "more behind the end of a key";
    ASSERT_LE(rows, truth.runs.sizes[key]);
    if (!whole && rows < truth.runs.sizes[key]) over.insert(key);
  }
}

int64_t UnitsOf(const Truth& truth) {
  int64_t units = 0;
  for (const KnownLane& lane : truth.lanes) units += lane.rows;
  return units;
}

TEST(RunTurnsTest, AllRoundsAreOfOneKeyAndAllIsTakenOnce) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    base::Generator random = Seeded(seed);
    const Truth truth = RandomTruth(random);
    const int64_t consumers = SomeConsumers(truth, random);
    RunTurns turns(truth.Whole(random.Integer(1, 6)), truth.For(consumers));
    std::set<std::pair<int64_t, int64_t>> seen;
    CheckRounds(truth, TakeAll(turns, truth.All()), consumers, seen);
    ASSERT_EQ(std::ssize(seen), UnitsOf(truth)) << "seed " << seed;
    ASSERT_EQ(turns.left_out_rows(), 0);
    ASSERT_EQ(turns.rest().rows(), 0);
  }
}

TEST(RunTurnsTest, WhatFillsNoRoundIsLeftOutIfToldSo) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    base::Generator random = Seeded(seed);
    const Truth truth = RandomTruth(random);
    const int64_t consumers = SomeConsumers(truth, random);
    RunTurns turns(truth.Whole(random.Integer(1, 6)), truth.For(consumers, true));
    std::set<std::pair<int64_t, int64_t>> seen;
    const Taken taken = TakeAll(turns, truth.All());
    CheckRounds(truth, taken, consumers, seen);
    for (const auto& rows : taken) ASSERT_THAT(rows, Not(IsEmpty()));
    ASSERT_EQ(std::ssize(seen) + turns.left_out_rows(), UnitsOf(truth));
    for (const int64_t size : truth.runs.sizes) ASSERT_GE(size, 1);
  }
}

// Lanes are learnt bit by bit; whatever is decided meanwhile is what it would have
// been.
TEST(RunTurnsTest, DecidesTheSameFromWhatIsLearntLate) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    base::Generator random = Seeded(seed);
    const Truth truth = RandomTruth(random);
    const int64_t consumers = SomeConsumers(truth, random);
    const int64_t tracks = random.Integer(1, 6);
    RunTurns all(truth.Whole(tracks), truth.For(consumers));
    RunTurns late(truth.Whole(tracks), truth.For(consumers));
    KnownLanes known;
    while (true) {
      const Rest before = late.rest();
      const size_t current = late.Ahead(0, known).size();
      ASSERT_EQ(late.HasMore(known), late.Ahead(1, known).size() > current);
      const Positions::Step step = late.Next(known);
      if (step.kind == Kind::kUnknown) {
        ASSERT_EQ(late.rest(), before) << "undecided, yet something changed";
        const KnownLane& lane = truth.lanes[step.lane];
        KnownLane more = known.Get(step.lane);
        more.rows = std::min(more.rows + random.Integer(1, 5), lane.before_tails());
        if (known.Get(step.lane).rows == lane.before_tails()) more = lane;
        ASSERT_THAT(known.Learn(step.lane, more), IsOk());
        continue;
      }
      const Positions::Step expected = all.Next(truth.All());
      ASSERT_EQ(step.kind, expected.kind);
      ASSERT_EQ(step.rows, expected.rows) << "seed " << seed;
      if (step.kind == Kind::kEnd) break;
    }
  }
}

// Takes some rounds, and writes down what is left as a state does.
State StateAfter(const Truth& truth, RunTurns& turns, const Taken& taken,
                 int64_t tracks) {
  State state;
  state.order = {OrderKind::kFixed, tracks, /*runs=*/true};
  Rest rest = turns.rest();
  // Who took a batch of a run was told its key.
  if (rest.run.left > 0 && rest.run.key < 0) {
    const LaneRange& last = taken.back().front();
    rest.run.key = truth.KeyOf(last.lane, last.begin);
  }
  SetRest(state, rest, std::ssize(truth.lanes));
  return state;
}

TEST(RunTurnsTest, GoOnFromAStateAsIfNothingHadHappened) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    base::Generator random = Seeded(seed);
    const Truth truth = RandomTruth(random);
    const int64_t consumers = SomeConsumers(truth, random);
    const int64_t tracks = random.Integer(1, 6);
    RunTurns turns(truth.Whole(tracks), truth.For(consumers));
    Taken taken;
    for (int64_t left = consumers * random.Integer(0, 40); left > 0; --left) {
      Positions::Step step = turns.Next(truth.All());
      if (step.kind == Kind::kEnd) break;
      taken.push_back(std::move(step.rows));
    }
    const State state = StateAfter(truth, turns, taken, tracks);
    const std::vector<int64_t> unknown(truth.lanes.size(), kRowsMax);
    const absl::StatusOr<Rest> rest = Resume(state, unknown, state.order);
    ASSERT_THAT(rest, IsOk());
    ASSERT_THAT(CheckRuns(*rest, truth.runs), IsOk());
    RunTurns again(*rest, truth.For(consumers));
    ASSERT_EQ(TakeAll(again, truth.All()), TakeAll(turns, truth.All()))
        << "seed " << seed;
  }
}

TEST(RunTurnsTest, OtherConsumersGoOnWithoutLossAndKeepTheirRounds) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    base::Generator random = Seeded(seed);
    const Truth truth = RandomTruth(random);
    const std::vector<int64_t> unknown(truth.lanes.size(), kRowsMax);
    int64_t tracks = random.Integer(1, 6);
    Rest rest = truth.Whole(tracks);
    std::set<std::pair<int64_t, int64_t>> seen;
    for (int64_t start = 0; start < 4; ++start) {
      const int64_t consumers = SomeConsumers(truth, random);
      RunTurns turns(rest, truth.For(consumers));
      Taken taken;
      const int64_t rounds = start == 3 ? 1 << 20 : random.Integer(0, 12);
      for (int64_t left = consumers * rounds; left > 0; --left) {
        Positions::Step step = turns.Next(truth.All());
        if (step.kind == Kind::kEnd) break;
        taken.push_back(std::move(step.rows));
      }
      CheckRounds(truth, taken, consumers, seen);
      if (HasFatalFailure()) FAIL() << "seed " << seed << " start " << start;
      const State state = StateAfter(truth, turns, taken, tracks);
      tracks = random.Integer(1, 6);
      const OrderRecord order{OrderKind::kFixed, tracks, true};
      const absl::StatusOr<Rest> resumed = Resume(state, unknown, order);
      ASSERT_THAT(resumed, IsOk()) << "seed " << seed;
      rest = *resumed;
      ASSERT_THAT(CheckRuns(rest, truth.runs), IsOk()) << "seed " << seed;
    }
    ASSERT_EQ(std::ssize(seen), UnitsOf(truth)) << "seed " << seed;
  }
}

// Four of a run of eight are left; five consumers would not divide it, eight take none
// of it now, and two take all.
TEST(RunTurnsTest, InsideARunTheRoundsThatStillFitComeFirst) {
  Truth truth;
  truth.runs = {.group = 12, .sizes = {3}};
  truth.lanes = {{24, true}};
  Rest rest = truth.Whole(1);
  rest.tracks[0].lanes[0].begin = 4;
  rest.run = {.left = 8, .key = 0};
  RunTurns six(rest, truth.For(6));
  EXPECT_THAT(six.Next(truth.All()).rows, ElementsAre(LaneRange{0, 6, 7, -1, true}));
  EXPECT_THAT(six.rest().tracks[0].carry, ElementsAre(LaneRange{0, 4, 6, 0, true}));
  RunTurns twelve(rest, truth.For(12));
  EXPECT_THAT(twelve.Next(truth.All()).rows,
              ElementsAre(LaneRange{0, 12, 13, -1, true}));
  RunTurns four(rest, truth.For(4));
  EXPECT_THAT(four.Next(truth.All()).rows, ElementsAre(LaneRange{0, 4, 5, -1, true}));
}

TEST(RunTurnsTest, TailsMakeTheNextRunOfTheirTrack) {
  Truth truth;
  truth.runs = {.group = 2, .sizes = {1, 2}};
  truth.lanes = {{2 + 1 + 3, true, {1, 3}}, {2 + 1, true, {0, 1}}, {2, true}};
  RunTurns turns(truth.Whole(1), truth.For(2));
  EXPECT_THAT(TakeAll(turns, truth.All()),
              ElementsAre(ElementsAre(LaneRange{0, 0, 1, -1, true}),
                          ElementsAre(LaneRange{0, 1, 2, -1, true}),
                          ElementsAre(LaneRange{1, 0, 1, -1, true}),
                          ElementsAre(LaneRange{1, 1, 2, -1, true}),
                          ElementsAre(LaneRange{0, 3, 5, 1}),
                          ElementsAre(LaneRange{0, 5, 6, 1}, LaneRange{1, 2, 3, 1}),
                          ElementsAre(LaneRange{2, 0, 1, -1, true}),
                          ElementsAre(LaneRange{2, 1, 2, -1, true}),
                          ElementsAre(LaneRange{0, 2, 3, 0}), IsEmpty()));
}

TEST(RunTurnsTest, StatesThatCannotBeAreRefused) {
  Truth truth;
  truth.runs = {.group = 4, .sizes = {3, 3}};
  truth.lanes = {{8, true}};
  const auto refuses = [&](const Rest& rest, std::string_view why) {
    EXPECT_THAT(CheckRuns(rest, truth.runs),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  Rest rest = truth.Whole(1);
  EXPECT_THAT(CheckRuns(rest, truth.runs), IsOk());
  rest.run = {.left = 4, .key = 0};
  refuses(rest, "no run of 4 batches has 4 left");
  rest.run = {.left = 2, .key = 7};
  refuses(rest, "no such bucket for a run: 7");
  rest.run = {.left = 2, .key = 1};
  refuses(rest, "a run is not where its lane is");
  rest.run = {.left = 2, .key = 1, .carried = true};
  refuses(rest, "a run has less left than it should");
  rest.run = {};
  rest.tracks[0].carry = {{0, 8, 9}};
  refuses(rest, "no such bucket for what is carried: -1");
}

TEST(RunTurnsTest, LanesThatCannotBeAreRefused) {
  const Runs runs{.group = 4, .sizes = {3, 3}};
  EXPECT_THAT(CheckRuns(0, {3}, runs), IsOk()) << "it goes on";
  EXPECT_THAT(CheckRuns(0, {9, true, {1, 0}}, runs), IsOk());
  EXPECT_THAT(CheckRuns(0, {9, true}, runs), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(CheckRuns(0, {5, true, {0, 0, 1}}, runs),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(IsPossible({5, true, {6}}));
  EXPECT_FALSE(IsPossible({5, true, {-1}}));
  EXPECT_FALSE(IsPossible({5, false, {1}})) << "a tail of a lane that goes on";
}

// A state of lanes that give runs counts batches: it goes on only where they do.
TEST(RunTurnsTest, StatesOfRunsAndOfRowsAreToldApart) {
  State state;
  state.lanes = 0;
  state.order = {OrderKind::kFixed, 2, /*runs=*/true};
  EXPECT_THAT(Resume(state, {}, {OrderKind::kFixed, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the state is of coordinated reads")));
  state.order.runs = false;
  EXPECT_THAT(Resume(state, {}, {OrderKind::kFixed, 2, true}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("not read in runs of batches")));
}

}  // namespace
}  // namespace millrace::lanes
