#include "millrace/lanes/chunks.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/lanes/manifest.h"

namespace millrace::lanes {
namespace {

using base::Bytes;

constexpr int64_t kMiB = int64_t{1} << 20;

Split MakeSplit(std::string name, int64_t bytes, int64_t rows, bool seekable = true) {
  return {.name = std::move(name),
          .bytes = Bytes(bytes),
          .version = "",
          .rows = rows,
          .seekable = seekable};
}

// All chunks, the plain way: count along every split.
std::vector<RowRange> PlainChunks(const Manifest& manifest, const ChunkRule& rule) {
  std::vector<RowRange> chunks;
  for (int64_t i = 0; i < std::ssize(manifest.splits); ++i) {
    const Split& split = manifest.splits[i];
    int64_t run = *split.rows;
    if (split.seekable && run > 0) {
      const int64_t row_bytes = (split.bytes.count() + run - 1) / run;
      run = 1;  // Grows while one row more stays within both limits.
      while (run < rule.rows && (run + 1) * row_bytes <= rule.bytes.count()) ++run;
    }
    for (int64_t row = 0; row < *split.rows; row += run) {
      chunks.push_back({i, row, std::min(row + run, *split.rows)});
    }
  }
  return chunks;
}

std::vector<RowRange> AllChunks(const ChunkTable& table) {
  std::vector<RowRange> chunks;
  chunks.reserve(table.chunks());
  for (int64_t i = 0; i < table.chunks(); ++i) chunks.push_back(table.Rows(i));
  return chunks;
}

TEST(ChunksTest, HasNoneOfAnEmptySource) {
  EXPECT_EQ(ChunkTable({}, {}).chunks(), 0);
  EXPECT_EQ(ChunkTable({{MakeSplit("a", 0, 0)}}, {}).chunks(), 0);
}

TEST(ChunksTest, CutsARunOfRows) {
  // 2,500 rows of 100 bytes: by rows, in 1,024s.
  const ChunkTable table({{MakeSplit("a", 250'000, 2500)}}, {});
  EXPECT_EQ(AllChunks(table),
            (std::vector<RowRange>{{0, 0, 1024}, {0, 1024, 2048}, {0, 2048, 2500}}));
}

TEST(ChunksTest, CutsLargeRowsByBytes) {
  // 10 rows of 6 MiB: two of them stay within 16 MiB.
  const ChunkTable table({{MakeSplit("a", 60 * kMiB, 10)}}, {});
  EXPECT_EQ(table.chunks(), 5);
  EXPECT_EQ(table.Rows(4), (RowRange{0, 8, 10}));
}

TEST(ChunksTest, StaysWithinTheBytesWhereRowsAreNoWholeNumber) {
  // 10.5 bytes a row: 9 rows are 94.5 bytes; 10 would be 105.
  const ChunkTable table({{MakeSplit("a", 105, 10)}},
                         {.rows = 50, .bytes = Bytes(104)});
  EXPECT_EQ(table.Rows(0), (RowRange{0, 0, 9}));
}

TEST(ChunksTest, KeepsAHugeRowInAChunkOfItsOwn) {
  const ChunkTable table({{MakeSplit("a", 300 * kMiB, 3)}}, {});
  EXPECT_EQ(table.chunks(), 3);
}

TEST(ChunksTest, KeepsASplitWithoutRandomAccessWhole) {
  const ChunkTable table({{MakeSplit("a.gz", 900 * kMiB, 70'000, false)}}, {});
  EXPECT_EQ(AllChunks(table), (std::vector<RowRange>{{0, 0, 70'000}}));
  EXPECT_FALSE(table.Divisible(table.Rows(0)));
}

TEST(ChunksTest, KeepsGrainsWhole) {
  Split split = MakeSplit("a", 0, 5000);
  split.grain = 300;  // Three fit into a chunk, ...
  EXPECT_EQ(ChunkTable({{split}}, {}).Rows(0), (RowRange{0, 0, 900}));
  EXPECT_EQ(ChunkTable({{split}}, {}).chunks(), 6);
  split.grain = 2000;  // ... or one is more than a chunk, ...
  EXPECT_EQ(AllChunks(ChunkTable({{split}}, {})),
            (std::vector<RowRange>{{0, 0, 2000}, {0, 2000, 4000}, {0, 4000, 5000}}));
  split.bytes = Bytes(5000 * kMiB);  // ... also by its bytes, ...
  EXPECT_EQ(ChunkTable({{split}}, {}).chunks(), 3);
  split.grain = 9000;  // ... or than the split.
  EXPECT_EQ(AllChunks(ChunkTable({{split}}, {})),
            (std::vector<RowRange>{{0, 0, 5000}}));
}

TEST(ChunksTest, NumbersChunksThroughAllSplits) {
  const ChunkTable table({{MakeSplit("a", 0, 1500), MakeSplit("none", 0, 0),
                           MakeSplit("b.gz", 0, 5, false), MakeSplit("c", 0, 1025)}},
                         {});
  EXPECT_EQ(
      AllChunks(table),
      (std::vector<RowRange>{
          {0, 0, 1024}, {0, 1024, 1500}, {2, 0, 5}, {3, 0, 1024}, {3, 1024, 1025}}));
  EXPECT_TRUE(table.Divisible(table.Rows(0)));
  EXPECT_FALSE(table.Divisible(table.Rows(2)));
}

TEST(ChunksTest, RefusesAChunkThatIsNone) {
  const ChunkTable table({{MakeSplit("a", 0, 10)}}, {});
  EXPECT_DEATH(table.Rows(1), "chunk");
  EXPECT_DEATH(table.Rows(-1), "chunk");
}

TEST(ChunksTest, KeepsTheUsualRuleForUsualSources) {
  const Manifest imagenet{
      {MakeSplit("train", int64_t{1'281'167} * 110'000, 1'281'167)}};
  EXPECT_EQ(ChooseChunkRule(imagenet), ChunkRule());
  EXPECT_EQ(ChooseChunkRule({}), ChunkRule());
}

TEST(ChunksTest, MakesLongerRunsOfHugeSources) {
  // 10^12 / 2^20 = 953,675 rows at least: 1,024 times 2^10.
  const Manifest range{{MakeSplit("range", 0, 1'000'000'000'000)}};
  const ChunkRule rule = ChooseChunkRule(range);
  EXPECT_EQ(rule.rows, int64_t{1} << 20);
  EXPECT_EQ(rule.bytes, Bytes(kMiB << 14));
  EXPECT_EQ(ChunkTable(range, rule).chunks(), 953'675);
}

TEST(ChunksTest, StaysWithinItsNumberAtEveryLimit) {
  const int64_t bytes_max = kSourceBytesMax.count();
  const std::vector<Manifest> sources = {
      {{MakeSplit("rows", 0, kRowsMax)}},
      {{MakeSplit("both", bytes_max, kRowsMax)}},
      {{MakeSplit("few", bytes_max, 3)}},
      {{MakeSplit("mean", bytes_max, int64_t{1} << 40)}},
      {std::vector<Split>(5000, MakeSplit("many", bytes_max / 5000, kRowsMax / 5000))},
  };
  for (const Manifest& source : sources) {
    const ChunkTable table(source, ChooseChunkRule(source));
    EXPECT_LE(table.chunks(), kChunksWanted + std::ssize(source.splits));
    const RowRange last = table.Rows(table.chunks() - 1);
    EXPECT_EQ(last.end, *source.splits.back().rows);
  }
}

TEST(ChunksTest, LetsManyFilesHaveAChunkEach) {
  const Manifest files{std::vector<Split>(kChunksWanted + 5, MakeSplit("f", 9, 1))};
  EXPECT_EQ(ChooseChunkRule(files), ChunkRule());
}

TEST(ChunksTest, NamesContentBySplitAndRows) {
  Manifest manifest{{MakeSplit("a", 0, 3000), MakeSplit("b", 0, 3000)}};
  const ChunkTable table(manifest, {});
  std::set<base::Hash128> hashes;
  for (int64_t i = 0; i < table.chunks(); ++i) hashes.insert(table.Hash(table.Rows(i)));
  EXPECT_EQ(hashes.size(), table.chunks());
  EXPECT_NE(table.Hash({0, 0, 10}), table.Hash({0, 0, 11}));
  EXPECT_NE(table.Hash({0, 0, 10}), table.Hash({0, 1, 10}));
}

TEST(ChunksTest, NamesContentWhereverItsSplitIsListed) {
  const ChunkTable one({{MakeSplit("a", 7, 10), MakeSplit("b", 7, 10)}}, {});
  const ChunkTable other({{MakeSplit("b", 7, 10)}}, {});
  EXPECT_EQ(one.Hash(one.Rows(1)), other.Hash(other.Rows(0)));
}

TEST(ChunksTest, TellsVersionsApartOnlyWhenAsked) {
  Manifest manifest{{MakeSplit("a", 7, 10)}};
  const ChunkTable before(manifest, {});
  manifest.splits[0].version = "changed";
  const ChunkTable after(manifest, {});
  EXPECT_EQ(before.Hash({0, 0, 10}), after.Hash({0, 0, 10}));
  EXPECT_NE(before.VersionedHash({0, 0, 10}), after.VersionedHash({0, 0, 10}));
}

TEST(ChunksTest, AgreesWithCountingAlong) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    base::Generator random(base::RandomKey(seed, 0, 0), {});
    Manifest manifest;
    for (int64_t i = random.Integer(0, 8); i > 0; --i) {
      const int64_t rows = random.Integer(0, 4) == 0 ? 0 : random.Integer(1, 200);
      manifest.splits.push_back(MakeSplit("s", random.Integer(0, 50 * rows + 1), rows,
                                          random.Integer(0, 3) > 0));
    }
    const ChunkRule rule{random.Integer(1, 40), Bytes(random.Integer(1, 300))};
    const ChunkTable table(manifest, rule);
    ASSERT_EQ(AllChunks(table), PlainChunks(manifest, rule)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace millrace::lanes
