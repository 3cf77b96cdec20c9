#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::StatusIs;

std::vector<int64_t> Draw(const std::string& call, int64_t begin, int64_t end,
                          uint64_t seed = 1, uint64_t epoch = 0) {
  const auto source = *MakeFileSource(
      call, {.pool = core::HeapPool(), .seed = seed, .epoch = epoch, .call_number = 0});
  EXPECT_TRUE(source->List().ok());
  std::vector<int64_t> numbers;
  const std::vector<core::Block> blocks = *ReadAll(*source, {0, begin, end});
  for (const core::Block& block : blocks) {
    for (const int64_t number : block.columns()[0].As<int64_t>()) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

TEST(RandomTest, ARowHasItsNumberHoweverItIsRead) {
  const std::vector<int64_t> all = Draw("random(count=20000)", 0, 20'000);
  ASSERT_EQ(all.size(), 20'000U);
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), all.size());
  for (const int64_t begin : {0, 1, 8191, 19'999}) {
    EXPECT_EQ(Draw("random(count=20000)", begin, begin + 1).at(0), all[begin]);
  }
}

TEST(RandomTest, NumbersDifferBySeedAndEpoch) {
  const std::vector<int64_t> all = Draw("random(count=5)", 0, 5);
  EXPECT_NE(all, Draw("random(count=5)", 0, 5, /*seed=*/2));
  EXPECT_NE(all, Draw("random(count=5)", 0, 5, /*seed=*/1, /*epoch=*/1));
  const std::vector<int64_t> seeded = Draw("random(seed=7, count=5)", 0, 5);
  EXPECT_NE(all, seeded);
  EXPECT_EQ(seeded, Draw("random(seed=7, count=5)", 0, 5, /*seed=*/2));
  EXPECT_NE(seeded, Draw("random(seed=8, count=5)", 0, 5));
}

TEST(RandomTest, BitsAreSetAsOftenAsNot) {
  std::vector<int> set(64);
  const std::vector<int64_t> all = Draw("random(count=10000)", 0, 10'000);
  for (const int64_t number : all) {
    for (int bit = 0; bit < 64; ++bit) set[bit] += static_cast<int>(number >> bit & 1);
  }
  for (const int count : set) EXPECT_NEAR(count, 5000, 250);
}

TEST(RandomTest, WithoutACountThereAreABillion) {
  const auto source = *MakeFileSource("random()", {.pool = core::HeapPool()});
  const lanes::Manifest manifest = *source->List();
  EXPECT_TRUE(lanes::Check(manifest).ok());
  EXPECT_EQ(manifest.total_rows(), int64_t{1} << 30);
  EXPECT_EQ(Draw("random()", 1'000'000'000, 1'000'000'003).size(), 3U);
  EXPECT_THAT(ReadPlain("random(count=-1)"), StatusIs(kInvalidArgument));
}

}  // namespace
}  // namespace millrace::ops
