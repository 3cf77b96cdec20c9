#include "millrace/lanes/cutting.h"

#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/hash.h"
#include "millrace/base/permutation.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"

namespace millrace::lanes {
namespace {

using absl::StatusCode;
using base::Bytes;
using base::StatusIs;
using testing::HasSubstr;

constexpr base::RandomKey kKey(7, 0, 0);

Split MakeSplit(std::string name, int64_t bytes, std::optional<int64_t> rows,
                bool seekable = true) {
  return {.name = std::move(name),
          .bytes = Bytes(bytes),
          .version = "",
          .rows = rows,
          .seekable = seekable};
}

Manifest Range(int64_t rows) { return {{MakeSplit("range", 0, rows)}}; }

Manifest Files(int64_t files, int64_t rows, int64_t row_bytes, bool seekable) {
  Manifest manifest;
  for (int64_t i = 0; i < files; ++i) {
    manifest.splits.push_back(
        MakeSplit("f" + std::to_string(i), rows * row_bytes, rows, seekable));
  }
  return manifest;
}

int64_t LaneRows(const Manifest& manifest, const CutFacts& facts) {
  return DecideCut(manifest, facts)->lane_rows;
}

LaneList CutWith(const Manifest& manifest, const CutRecord& record,
                 const base::RandomKey& key = kKey) {
  return *LaneList::Cut(manifest, record, key);
}

// The row ranges of all lanes, row by row.
std::vector<RowRange> SingleRows(const std::vector<RowRange>& ranges) {
  std::vector<RowRange> rows;
  for (const RowRange& range : ranges) {
    for (int64_t row = range.begin; row < range.end; ++row) {
      rows.push_back({range.split, row, row + 1});
    }
  }
  return rows;
}

// The plain cut: put the chunks in order, go through them row by row, and end a lane at
// the first row where it has enough and may end.
std::vector<std::vector<RowRange>> PlainLanes(const Manifest& manifest,
                                              const CutRecord& record,
                                              const base::RandomKey& key) {
  const ChunkTable chunks(manifest, record.chunk);
  const base::Permutation permutation(chunks.chunks(), key);
  std::vector<std::vector<RowRange>> lanes(1);
  for (int64_t place = 0; place < chunks.chunks(); ++place) {
    const RowRange chunk = chunks.Rows(record.shuffled ? permutation.At(place) : place);
    const bool seekable = manifest.splits[chunk.split].seekable;
    int64_t left = chunk.rows();  // When the lane came to this chunk.
    for (int64_t row = chunk.begin; row < chunk.end; ++row) {
      lanes.back().push_back({chunk.split, row, row + 1});
      const bool enough = std::ssize(lanes.back()) >= record.lane_rows;
      const bool inside = seekable && (record.exact_ends || left > record.lane_rows);
      if (!enough || !(inside || row + 1 == chunk.end)) continue;
      lanes.emplace_back();
      left = chunk.end - row - 1;
    }
  }
  if (lanes.back().empty()) lanes.pop_back();
  return lanes;
}

// --- How many rows a lane should have ---

TEST(CuttingTest, WantsAThousandLanesOfImageNet) {
  // 32 batches are 8,192 rows; 64 MiB of 110 kB are 610. 8,192 rows would make 157
  // lanes, so 1,281,167 / 1,000 = 1,282 rows, and up to whole batches: 6 x 256.
  const Manifest imagenet = Files(1, 1'281'167, 110'000, true);
  EXPECT_EQ(LaneRows(imagenet, {.batch_rows = 256}), 1536);
}

TEST(CuttingTest, KeepsAShuffleWindowInALane) {
  // Four windows are 40,000 rows; reduced, but not below one window: 40 x 256.
  EXPECT_EQ(LaneRows(Range(1'281'167), {.batch_rows = 256, .shuffle_window = 10'000}),
            10'240);
}

TEST(CuttingTest, KeepsABatchInALane) {
  EXPECT_EQ(LaneRows(Range(10'000), {.batch_rows = 4096}), 4096);
  EXPECT_EQ(LaneRows(Range(100), {.batch_rows = 4096}), 4096);
}

TEST(CuttingTest, TakesAtLeast64KiRowsOfLargeData) {
  // 10^9 rows make over a thousand lanes anyway.
  EXPECT_EQ(LaneRows(Range(1'000'000'000), {.batch_rows = 256}), 65'536);
  EXPECT_EQ(LaneRows(Range(1'000'000'000), {.batch_rows = 100}), 65'600);
}

TEST(CuttingTest, TakesAtLeast64MiBOfLargeRows) {
  // 10^6 rows of 1 MiB: 64 of them, but 32 batches of 8 are more.
  const Manifest files = Files(100'000, 10, 1 << 20, true);
  EXPECT_EQ(LaneRows(files, {.batch_rows = 1}), 64);
  EXPECT_EQ(LaneRows(files, {.batch_rows = 8}), 256);
}

TEST(CuttingTest, TakesFourWindowsOfLargeData) {
  EXPECT_EQ(LaneRows(Range(1'000'000'000), {.batch_rows = 1, .shuffle_window = 50'000}),
            200'000);
}

TEST(CuttingTest, Takes64BatchesForEachBucket) {
  // 64 x 32 x 50 = 102,400 rows.
  EXPECT_EQ(LaneRows(Range(1'000'000'000), {.batch_rows = 32, .buckets = 50}), 102'400);
}

TEST(CuttingTest, IsNeverShorterThanSomeRuns) {
  EXPECT_EQ(LaneRows(Range(10'000), {.batch_rows = 4, .run_rows = 440}), 440);
  EXPECT_EQ(LaneRows(Range(10'000), {.batch_rows = 4}), 12);
}

TEST(CuttingTest, DoesNotRoundWhereCountsChange) {
  const Manifest source = Range(1'281'167);
  EXPECT_EQ(LaneRows(source, {.batch_rows = 256, .counts_change = true}), 1282);
  EXPECT_EQ(LaneRows(source, {}), 1282);
  EXPECT_FALSE(
      DecideCut(source, {.batch_rows = 256, .counts_change = true})->exact_ends);
  EXPECT_FALSE(DecideCut(source, {})->exact_ends);
  EXPECT_TRUE(DecideCut(source, {.batch_rows = 256})->exact_ends);
}

TEST(CuttingTest, KeepsTheNumberOfLanesOfAHugeSourceSmall) {
  // 10^12 / 2^20, up to a multiple of 1,000.
  EXPECT_EQ(LaneRows(Range(1'000'000'000'000), {.batch_rows = 1000}), 954'000);
}

TEST(CuttingTest, DecidesForAnEmptySource) {
  EXPECT_EQ(LaneRows({}, {}), 1);
  EXPECT_EQ(LaneRows({}, {.batch_rows = 10}), 10);
}

TEST(CuttingTest, SurvivesTheLargestNumbers) {
  const CutFacts facts{
      .batch_rows = kRowsMax, .shuffle_window = kRowsMax, .buckets = kRowsMax};
  EXPECT_EQ(LaneRows(Range(kRowsMax), facts), kRowsMax);
  EXPECT_EQ(LaneRows(Range(5), facts), kRowsMax);
}

TEST(CuttingTest, RefusesAbsurdFacts) {
  const auto refuses = [](const CutFacts& facts, const std::string& message) {
    EXPECT_THAT(DecideCut(Range(1), facts),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refuses({.batch_rows = -1}, "absurd batch size: -1");
  refuses({.batch_rows = INT64_MAX}, "absurd batch size: 9223372036854775807");
  refuses({.shuffle_window = -2}, "absurd shuffle window: -2");
  refuses({.buckets = -3}, "absurd number of buckets: -3");
}

TEST(CuttingTest, RefusesSourcesItCannotCut) {
  const Manifest absurd{{MakeSplit("a", 0, -1)}};
  EXPECT_THAT(DecideCut(absurd, {}), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(LaneList::Cut(absurd, {}, kKey), StatusIs(StatusCode::kInvalidArgument));
}

// So many splits of these bytes each, whose rows nobody knows.
Manifest Uncounted(int64_t splits, int64_t bytes) {
  Manifest manifest;
  for (int64_t i = 0; i < splits; ++i) {
    manifest.splits.push_back(MakeSplit(base::StrCat("s", i), bytes, std::nullopt));
  }
  return manifest;
}

TEST(CuttingTest, SourcesWithoutCountsAreCutByBytesAtTheEndsOfSplits) {
  const Manifest manifest = Uncounted(10'000, 1 << 20);
  const CutRecord record = *DecideCut(manifest, {.batch_rows = 32});
  EXPECT_FALSE(record.counted);
  const LaneList lanes = *LaneList::Cut(manifest, record, kKey);
  EXPECT_EQ(lanes.size(), 1000);
  EXPECT_EQ(lanes.lane_rows()[0], kRowsMax);
  EXPECT_EQ(lanes.Content(0).size(), 10U);
  EXPECT_EQ(lanes.Content(0)[1], (RowRange{1, 0, kRowsMax}));
  EXPECT_EQ(lanes.Content(999).back(), (RowRange{9999, 0, kRowsMax}));
}

TEST(CuttingTest, EverySplitWithoutCountsIsInOneLane) {
  for (const bool shuffled : {false, true}) {
    const Manifest manifest = Uncounted(321, 5 << 20);
    const CutRecord record = *DecideCut(
        manifest, {.shuffle_window = shuffled ? 1000 : 0, .shuffled = shuffled});
    const LaneList lanes = *LaneList::Cut(manifest, record, kKey);
    std::set<int64_t> splits;
    for (int64_t lane = 0; lane < lanes.size(); ++lane) {
      for (const RowRange& rows : lanes.Content(lane)) splits.insert(rows.split);
    }
    EXPECT_EQ(splits.size(), 321U);
    EXPECT_EQ(lanes.Content(0)[0].split == 0, !shuffled);
    EXPECT_EQ(lanes.size(), shuffled ? 25 : 321);  // Of 64 MiB: 13 splits.
  }
}

TEST(CuttingTest, APassThatMustBeOneLaneIsOne) {
  const Manifest manifest = Uncounted(321, 5 << 20);
  const CutFacts facts = {.one_lane_reason = "scan (%1) looks at every row"};
  const CutRecord record = *DecideCut(manifest, facts);
  EXPECT_EQ(LaneList::Cut(manifest, record, kKey)->size(), 1);
  const CutRecord counted = *DecideCut(Range(1'000'000), facts);
  EXPECT_EQ(LaneList::Cut(Range(1'000'000), counted, kKey)->size(), 1);
}

TEST(CuttingTest, ARecordOfACountedSourceFitsNoOther) {
  const CutRecord counted = *DecideCut(Range(5), {});
  EXPECT_THAT(LaneList::Cut(Uncounted(3, 9), counted, kKey),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("with row counts")));
}

TEST(CuttingTest, RefusesAbsurdRecords) {
  const auto refuses = [](const CutRecord& record, const std::string& message) {
    EXPECT_THAT(LaneList::Cut(Range(kRowsMax), record, kKey),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  const CutRecord good = *DecideCut(Range(kRowsMax), {});
  CutRecord record = good;
  record.lane_rows = 0;
  refuses(record, "lanes of 0 rows");
  record.lane_rows = 1;
  refuses(record, "too many lanes");
  record = good;
  record.chunk.rows = -1;
  refuses(record, "chunks of -1 rows");
  record.chunk.rows = 1;
  refuses(record, "too many chunks");
  record = good;
  record.chunk.bytes = Bytes(0);
  refuses(record, "0 bytes");
}

// --- The lanes ---

TEST(CuttingTest, MakesNoLanesOfNothing) {
  EXPECT_EQ(CutWith({}, {}).size(), 0);
  EXPECT_EQ(CutWith(Range(0), {}).size(), 0);
}

TEST(CuttingTest, CutsAChunkWhereALaneHasItsRows) {
  const CutRecord record{.chunk = {.rows = 4}, .lane_rows = 6, .exact_ends = true};
  const LaneList lanes = CutWith(Range(15), record);
  EXPECT_EQ(lanes.lane_rows(), (std::vector<int64_t>{6, 6, 3}));
  EXPECT_EQ(lanes.Content(0), (std::vector<RowRange>{{0, 0, 4}, {0, 4, 6}}));
  EXPECT_EQ(lanes.Content(1), (std::vector<RowRange>{{0, 6, 8}, {0, 8, 12}}));
  EXPECT_EQ(lanes.Content(2), (std::vector<RowRange>{{0, 12, 15}}));
}

TEST(CuttingTest, KeepsChunksWholeWhereEndsNeedNotBeExact) {
  const CutRecord record{.chunk = {.rows = 4}, .lane_rows = 6};
  const LaneList lanes = CutWith(Range(15), record);
  EXPECT_EQ(lanes.lane_rows(), (std::vector<int64_t>{8, 7}));
}

TEST(CuttingTest, CutsAChunkLongerThanALane) {
  for (const bool exact : {false, true}) {
    const CutRecord record{.lane_rows = 6, .exact_ends = exact};
    EXPECT_EQ(CutWith(Range(15), record).lane_rows(), (std::vector<int64_t>{6, 6, 3}));
  }
}

TEST(CuttingTest, KeepsTheEndOfASplitWithoutRandomAccess) {
  const CutRecord record{.lane_rows = 6, .exact_ends = true};
  const LaneList lanes = CutWith(Files(5, 4, 1, false), record);
  EXPECT_EQ(lanes.lane_rows(), (std::vector<int64_t>{8, 8, 4}));
}

TEST(CuttingTest, MakesALongSplitWithoutRandomAccessOneLane) {
  const CutRecord record{.lane_rows = 6, .exact_ends = true};
  const LaneList lanes = CutWith(Files(3, 1000, 1, false), record);
  EXPECT_EQ(lanes.lane_rows(), (std::vector<int64_t>{1000, 1000, 1000}));
}

TEST(CuttingTest, EndsOnWholeBatchesAgainAfterSuchASplit) {
  Manifest manifest{{MakeSplit("a.gz", 1, 7, false), MakeSplit("b", 1, 100)}};
  const CutRecord record{.lane_rows = 10, .exact_ends = true};
  const std::vector<int64_t> rows = CutWith(manifest, record).lane_rows();
  for (int64_t lane = 0; lane + 1 < std::ssize(rows); ++lane) {
    EXPECT_EQ(rows[lane], 10);
  }
  EXPECT_EQ(rows.back(), 7);
}

TEST(CuttingTest, ShufflesChunksAnewForEveryKey) {
  const CutRecord record{
      .shuffled = true, .chunk = {.rows = 10}, .lane_rows = 20, .exact_ends = true};
  const LaneList one = CutWith(Range(1000), record, base::RandomKey(7, 0, 0));
  const LaneList same = CutWith(Range(1000), record, base::RandomKey(7, 0, 0));
  const LaneList other = CutWith(Range(1000), record, base::RandomKey(7, 1, 0));
  EXPECT_EQ(one.Content(3), same.Content(3));
  EXPECT_NE(one.Content(3), other.Content(3));
}

TEST(CuttingTest, IgnoresTheKeyWithoutShuffling) {
  const CutRecord record{.chunk = {.rows = 10}, .lane_rows = 20};
  const LaneList one = CutWith(Range(100), record, base::RandomKey(7, 0, 0));
  const LaneList other = CutWith(Range(100), record, base::RandomKey(8, 0, 0));
  EXPECT_EQ(one.Content(2), other.Content(2));
}

// A record of a job with other batches, or of another day, cuts as it did then.
TEST(CuttingTest, FollowsTheRecordWhateverThePipelineHasBecome) {
  const CutRecord then = *DecideCut(Range(100'000), {.batch_rows = 100});
  const CutRecord now = *DecideCut(Range(100'000), {.batch_rows = 64});
  EXPECT_NE(then, now);
  const LaneList lanes = CutWith(Range(100'000), then);
  for (const int64_t rows : lanes.lane_rows()) {
    EXPECT_EQ(rows, 100);
  }
}

TEST(CuttingTest, CutsATrillionRowsInLittleMemory) {
  const Manifest source = Range(1'000'000'000'000);
  const CutRecord record = *DecideCut(source, {.batch_rows = 1000, .shuffled = true});
  const LaneList lanes = CutWith(source, record);
  const std::vector<int64_t>& rows = lanes.lane_rows();
  EXPECT_EQ(lanes.size(), 1'048'219);  // 10^12 / 954,000, up.
  EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), int64_t{0}), 1'000'000'000'000);
  for (const int64_t lane : {int64_t{0}, int64_t{500'000}, lanes.size() - 1}) {
    int64_t content = 0;
    for (const RowRange& range : lanes.Content(lane)) content += range.rows();
    EXPECT_EQ(content, rows[lane]);
  }
}

TEST(CuttingTest, NamesEveryLaneByItsContent) {
  const CutRecord record{
      .shuffled = true, .chunk = {.rows = 10}, .lane_rows = 20, .exact_ends = true};
  Manifest manifest = Range(1000);
  const LaneList lanes = CutWith(manifest, record);
  std::set<base::Hash128> hashes;
  for (int64_t i = 0; i < lanes.size(); ++i) hashes.insert(lanes.ContentHash(i));
  EXPECT_EQ(hashes.size(), lanes.size());

  manifest.splits[0].version = "touched";
  const LaneList touched = CutWith(manifest, record);
  EXPECT_EQ(lanes.ContentHash(5), touched.ContentHash(5));
  EXPECT_NE(lanes.VersionedContentHash(5), touched.VersionedContentHash(5));
}

// Lane 1 of a short source is lane 0 of the same source without its first file: a cache
// knows it again.
TEST(CuttingTest, NamesTheSameContentAlikeUnderAnotherNumber) {
  const CutRecord record{.lane_rows = 10};
  Manifest manifest = Files(2, 10, 1, true);
  const base::Hash128 second = CutWith(manifest, record).ContentHash(1);
  manifest.splits.erase(manifest.splits.begin());
  EXPECT_EQ(CutWith(manifest, record).ContentHash(0), second);
}

TEST(CuttingTest, SlicesALane) {
  const std::vector<RowRange> content{{0, 5, 10}, {3, 0, 4}, {1, 7, 8}};
  EXPECT_EQ(Slice(content, 0, 10), content);
  EXPECT_EQ(Slice(content, 2, 6), (std::vector<RowRange>{{0, 7, 10}, {3, 0, 1}}));
  EXPECT_EQ(Slice(content, 9, 10), (std::vector<RowRange>{{1, 7, 8}}));
  EXPECT_TRUE(Slice(content, 4, 4).empty());
  EXPECT_TRUE(Slice({}, 0, 0).empty());
  EXPECT_DEATH(Slice(content, 0, 11), "end <= 0");
  EXPECT_DEATH(Slice(content, 3, 2), "3 to 2");
}

TEST(CuttingTest, SlicesLikeSingleRows) {
  const std::vector<RowRange> content{{0, 5, 10}, {3, 0, 4}, {1, 7, 8}, {1, 0, 3}};
  const std::vector<RowRange> rows = SingleRows(content);
  for (int64_t begin = 0; begin <= std::ssize(rows); ++begin) {
    for (int64_t end = begin; end <= std::ssize(rows); ++end) {
      EXPECT_EQ(SingleRows(Slice(content, begin, end)),
                std::vector<RowRange>(rows.begin() + begin, rows.begin() + end));
    }
  }
}

Manifest RandomManifest(base::Generator& random) {
  Manifest manifest;
  for (int64_t i = random.Integer(0, 9); i > 0; --i) {
    const int64_t rows = random.Integer(0, 5) == 0 ? 0 : random.Integer(1, 60);
    manifest.splits.push_back(
        MakeSplit("s" + std::to_string(i), rows * 3, rows, random.Integer(0, 3) > 0));
  }
  return manifest;
}

TEST(CuttingTest, AgreesWithGoingRowByRow) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    base::Generator random(base::RandomKey(seed, 0, 0), {});
    const Manifest manifest = RandomManifest(random);
    const CutRecord record{.shuffled = random.Integer(0, 2) == 0,
                           .chunk = {.rows = random.Integer(1, 30)},
                           .lane_rows = random.Integer(1, 50),
                           .exact_ends = random.Integer(0, 2) == 0};
    const base::RandomKey key(seed, 1, 2);
    const LaneList lanes = CutWith(manifest, record, key);
    const auto plain = PlainLanes(manifest, record, key);
    ASSERT_EQ(lanes.size(), std::ssize(plain)) << "seed " << seed;
    for (int64_t lane = 0; lane < lanes.size(); ++lane) {
      ASSERT_EQ(SingleRows(lanes.Content(lane)), plain[lane]) << "seed " << seed;
      ASSERT_EQ(lanes.lane_rows()[lane], std::ssize(plain[lane])) << "seed " << seed;
    }
  }
}

// Whatever the source and the pipeline: every row is in one lane; only splits without
// random access and the end of the pass make a lane that is no multiple of the batch.
TEST(CuttingTest, PutsEveryRowInOneLaneOfWholeBatches) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    base::Generator random(base::RandomKey(seed, 3, 0), {});
    const Manifest manifest = RandomManifest(random);
    const CutFacts facts{.batch_rows = random.Integer(1, 20),
                         .shuffle_window = random.Integer(0, 40),
                         .shuffled = random.Integer(0, 2) == 0};
    const CutRecord record = *DecideCut(manifest, facts);
    const LaneList lanes = CutWith(manifest, record);
    std::set<std::pair<int64_t, int64_t>> rows;
    for (int64_t lane = 0; lane < lanes.size(); ++lane) {
      const std::vector<RowRange> content = SingleRows(lanes.Content(lane));
      for (const RowRange& row : content) rows.insert({row.split, row.begin});
      if (lane + 1 == lanes.size()) continue;
      ASSERT_GE(std::ssize(content), facts.shuffle_window) << "seed " << seed;
      if (!manifest.splits[content.back().split].seekable) continue;
      ASSERT_EQ(std::ssize(content) % facts.batch_rows, 0) << "seed " << seed;
    }
    ASSERT_EQ(rows.size(), manifest.total_rows()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace millrace::lanes
