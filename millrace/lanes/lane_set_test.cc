#include "millrace/lanes/lane_set.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/random.h"

namespace millrace::lanes {
namespace {

std::vector<int64_t> Sorted(const std::set<int64_t>& lanes) {
  return {lanes.begin(), lanes.end()};
}

// What spans() promises.
void ExpectCanonical(const LaneSet& set) {
  const std::vector<LaneSpan>& spans = set.spans();
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_LT(spans[i].begin, spans[i].end);
    if (i > 0) {
      EXPECT_LT(spans[i - 1].end, spans[i].begin);
    }
  }
}

TEST(LaneSetTest, HasNothingAtFirst) {
  const LaneSet set;
  EXPECT_EQ(set.size(), 0);
  EXPECT_FALSE(set.Contains(0));
  EXPECT_TRUE(set.Lanes().empty());
  EXPECT_EQ(set.ToString(), "");
}

TEST(LaneSetTest, JoinsWhatTouches) {
  LaneSet set;
  set.Add(0, 2);
  set.Add(4, 6);
  EXPECT_EQ(set.ToString(), "0-1 4-5");
  set.Add(2, 4);
  EXPECT_EQ(set.ToString(), "0-5");
  EXPECT_EQ(set.spans(), (std::vector<LaneSpan>{{0, 6}}));
}

TEST(LaneSetTest, FindsTheFirstThatIsMissing) {
  LaneSet set;
  EXPECT_EQ(set.FirstMissing(3), 3);
  set.Add(3, 6);
  set.Add(7, 9);
  EXPECT_EQ(set.FirstMissing(2), 2);
  EXPECT_EQ(set.FirstMissing(3), 6);
  EXPECT_EQ(set.FirstMissing(5), 6);
  EXPECT_EQ(set.FirstMissing(6), 6);
  EXPECT_EQ(set.FirstMissing(8), 9);
  EXPECT_EQ(set.FirstMissing(9), 9);
}

TEST(LaneSetTest, JoinsWhatOverlaps) {
  LaneSet set;
  set.Add(0, 5);
  set.Add(10, 15);
  set.Add(20, 21);
  set.Add(3, 12);
  EXPECT_EQ(set.ToString(), "0-14 20");
  set.Add(1, 2);
  EXPECT_EQ(set.ToString(), "0-14 20");
}

TEST(LaneSetTest, AddsNothingForAnEmptyRange) {
  LaneSet set;
  set.Add(3, 3);
  EXPECT_EQ(set, LaneSet());
}

TEST(LaneSetTest, WritesSingleLanesWithoutADash) {
  EXPECT_EQ(LaneSet::Of({7, 0, 1, 3, 1}).ToString(), "0-1 3 7");
}

TEST(LaneSetTest, HoldsAHugeRangeInOneSpan) {
  LaneSet set;
  set.Add(0, int64_t{1} << 60);
  EXPECT_EQ(set.size(), int64_t{1} << 60);
  EXPECT_TRUE(set.Contains((int64_t{1} << 60) - 1));
  EXPECT_FALSE(set.Contains(int64_t{1} << 60));
  EXPECT_FALSE(set.Contains(-1));
  EXPECT_EQ(set.spans().size(), 1);
}

TEST(LaneSetTest, EqualsTheSameLanesAddedInAnotherOrder) {
  LaneSet one;
  one.Add(5, 9);
  one.Add(0, 5);
  LaneSet other;
  other.Add(0, 9);
  EXPECT_EQ(one, other);
  EXPECT_NE(one, LaneSet::Of({0}));
}

TEST(LaneSetTest, RefusesARangeThatEndsBeforeItBegins) {
  LaneSet set;
  EXPECT_DEATH(set.Add(2, 1), "begin <= end");
}

TEST(LaneSetTest, AgreesWithAPlainSet) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    base::Generator random(base::RandomKey(seed, 0, 0), {});
    LaneSet set;
    std::set<int64_t> plain;
    for (int i = 0; i < 20; ++i) {
      const int64_t begin = random.Integer(0, 60);
      const int64_t end = begin + random.Integer(0, 8);
      set.Add(begin, end);
      for (int64_t lane = begin; lane < end; ++lane) plain.insert(lane);

      ExpectCanonical(set);
      ASSERT_EQ(set.Lanes(), Sorted(plain)) << "seed " << seed;
      ASSERT_EQ(set.size(), plain.size()) << "seed " << seed;
      ASSERT_EQ(set, LaneSet::Of(Sorted(plain))) << "seed " << seed;
      const int64_t lane = random.Integer(-1, 70);
      ASSERT_EQ(set.Contains(lane), plain.contains(lane)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace millrace::lanes
