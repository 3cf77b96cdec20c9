#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<ir::Pipeline> Parse(const std::string& arguments) {
  return ir::Parse(base::StrCat("%0 = range(", arguments, ")"), {},
                   DefaultLibrary().catalog());
}

std::vector<int64_t> Read(const std::string& arguments, int64_t begin, int64_t end) {
  const auto source =
      DefaultLibrary().MakeSource(*Parse(arguments), {.pool = core::HeapPool()});
  std::vector<int64_t> values;
  const std::vector<core::Block> blocks = *ReadAll(*source, {0, begin, end});
  for (const core::Block& block : blocks) {
    const auto part = block.Find("value")->As<int64_t>();
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

TEST(RangeTest, GivesNumbersFromStartUpToStop) {
  EXPECT_THAT(Read("start=3, stop=7", 0, 4), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(Read("start=10, stop=0, step=-4", 0, 3), ElementsAre(10, 6, 2));
  EXPECT_THAT(Read("stop=100", 97, 100), ElementsAre(97, 98, 99));
}

TEST(RangeTest, GivesLongRangesInSeveralBlocks) {
  const std::vector<int64_t> values = Read("stop=5000", 10, 4990);
  ASSERT_EQ(values.size(), 4980U);
  EXPECT_EQ(values.front(), 10);
  EXPECT_EQ(values.back(), 4989);
}

TEST(RangeTest, ReachesTheEndsOfItsType) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const std::string whole =
      "start=-9223372036854775808, stop=9223372036854775807, step=4611686018427387904";
  EXPECT_THAT(Read(whole, 0, 4), ElementsAre(kLeast, kLeast / 2, 0, -(kLeast / 2)));
}

TEST(RangeTest, CountsItsRows) {
  const auto count = [](const std::string& arguments) {
    return Parse(arguments)->cardinality();
  };
  EXPECT_EQ(count("stop=7"), ir::Cardinality::Known(7));
  EXPECT_EQ(count("stop=7, step=3"), ir::Cardinality::Known(3));
  EXPECT_EQ(count("stop=6, step=3"), ir::Cardinality::Known(2));
  EXPECT_EQ(count("start=7, stop=0, step=-3"), ir::Cardinality::Known(3));
  EXPECT_EQ(count("start=7, stop=0"), ir::Cardinality::Known(0));
  EXPECT_EQ(count("stop=-1"), ir::Cardinality::Known(0));
}

TEST(RangeTest, ListsOneSplitThatCanBeReadAnywhere) {
  const auto source = DefaultLibrary().MakeSource(*Parse("stop=12, step=5"),
                                                  {.pool = core::HeapPool()});
  const lanes::Manifest manifest = *source->List();
  ASSERT_EQ(manifest.splits.size(), 1U);
  EXPECT_EQ(manifest.splits[0].rows, 3);
  EXPECT_TRUE(manifest.splits[0].seekable);
}

TEST(RangeTest, RowsAreToldApartByTheSourcesNumber) {
  const auto first_id = [](const char* text) {
    const ir::Pipeline node = *ir::Parse(text, {}, DefaultLibrary().catalog());
    const auto source = DefaultLibrary().MakeSource(node, {.pool = core::HeapPool()});
    return ReadAll(*source, {0, 0, 1})->front().IdAt(0);
  };
  EXPECT_EQ(first_id("%0 = range#0(stop=9)"), first_id("%0 = range(stop=9)"));
  EXPECT_NE(first_id("%0 = range#0(stop=9)"), first_id("%0 = range#1(stop=9)"));
}

TEST(RangeTest, GivesIdentitiesOnlyWhereSomebodyNeedsThem) {
  const auto source = DefaultLibrary().MakeSource(
      *Parse("stop=9"), {.pool = core::HeapPool(), .with_ids = false});
  EXPECT_FALSE(ReadAll(*source, {0, 0, 9})->front().has_ids());
}

TEST(RangeTest, RefusesWhatHasNoMeaning) {
  EXPECT_THAT(Parse("stop=3, step=0").status().message(),
              HasSubstr("range: argument step must not be 0"));
  EXPECT_THAT(Parse("").status().message(), HasSubstr("argument stop is missing"));
  EXPECT_THAT(
      Parse("start=-9223372036854775808, stop=9223372036854775807").status().message(),
      HasSubstr("more numbers than a pass can have"));
}

}  // namespace
}  // namespace millrace::ops
