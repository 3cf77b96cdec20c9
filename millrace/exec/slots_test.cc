#include "millrace/exec/slots.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/stages.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kRowBytes = 8192;

// Rows of 1024 numbers each, computed row-wise right before a batch.
std::string Pipeline(int64_t rows, int64_t size) {
  return base::StrCat("%0 = range(stop=", rows, ")\n",
                      "%1 = map(%0, function={x: normal(0.0, 1.0, shape=[1024]) + "
                      ".value, n: .value})\n",
                      "%2 = batch(%1, size=", size, ")\n");
}

std::optional<SlotShape> ShapeBehind(const std::string& text, const Stage& stage) {
  const PassPlan plan = *PlanPass(AsWritten(text), ops::DefaultLibrary(), {});
  return SlotsBehind(plan, stage);
}

TEST(SlotsTest, AreForLargeRowsRightBeforeABatch) {
  const Stage map = {Stage::Kind::kRowWise, 1, 1};
  const std::optional<SlotShape> shape = ShapeBehind(Pipeline(100, 16), map);
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->batch_rows, 16);
  EXPECT_THAT(shape->row_bytes, ElementsAre(kRowBytes, 0));  // Not for small fields.
}

TEST(SlotsTest, AreNotWhereRowsAreSmallOrTheirPlacesNotKnown) {
  const Stage map = {Stage::Kind::kRowWise, 1, 1};
  const Stage both = {Stage::Kind::kRowWise, 1, 2};
  const std::string large = "normal(0.0, 1.0, shape=[1024])";
  EXPECT_FALSE(
      ShapeBehind("%0 = range(stop=9)\n%1 = map(%0, function={x: .value})\n"
                  "%2 = batch(%1, size=2)",
                  map));
  EXPECT_FALSE(ShapeBehind(
      base::StrCat("%0 = range(stop=9)\n%1 = map(%0, function={x: ", large, "})"),
      map));
  EXPECT_FALSE(ShapeBehind(
      base::StrCat("%0 = range(stop=9)\n%1 = filter(%0, predicate={.value > 3})\n",
                   "%2 = map(%1, function={x: ", large, "})\n%3 = batch(%2, size=2)"),
      both));
  EXPECT_FALSE(ShapeBehind(
      base::StrCat("%0 = range(stop=9)\n%1 = map(%0, function={x: ", large, "})\n",
                   "%2 = shuffle(%1, window=3)\n%3 = batch(%2, size=2)"),
      map));
}

TEST(SlotsTest, RowsOfABatchLieSideBySideInWhateverOrderTheyAreClaimed) {
  SlotTable table({.batch_rows = 4, .row_bytes = {64, 0}}, core::HeapPool());
  const std::vector<core::Buffer> last = table.Claim(7, 1);
  const std::vector<core::Buffer> first = table.Claim(4, 2);
  EXPECT_EQ(table.open(), 1);
  const std::vector<core::Buffer> middle = table.Claim(6, 1);
  EXPECT_TRUE(first[0].Precedes(middle[0]));
  EXPECT_TRUE(middle[0].Precedes(last[0]));
  EXPECT_EQ(first[1].size(), 0);
  EXPECT_EQ(table.open(), 0);  // All claimed: the rows hold it from here on.
}

// Rows with as many numbers, of which the types say nothing.
std::string UnknownPipeline(int64_t rows, const std::string& numbers) {
  return base::StrCat("%0 = range(stop=", rows, ")\n",
                      "%1 = map(%0, function={x: range(", numbers, ") + .value})\n",
                      "%2 = batch(%1, size=16)\n");
}

core::Block RowsOf(int64_t rows, int64_t bytes) {
  const int64_t count = bytes / core::SizeOf(core::DType::kInt64);
  core::Buffer values = *core::HeapPool().Allocate(rows * bytes);
  return {rows,
          {"x"},
          {core::Column::Dense(core::DType::kInt64, rows, {count}, std::move(values))}};
}

TEST(SlotsTest, AreForRowsOfWhichNoShapeIsKnownAsSoonAsSomeWereSeen) {
  const std::optional<SlotShape> shape =
      ShapeBehind(UnknownPipeline(9, "1024"), {Stage::Kind::kRowWise, 1, 1});
  ASSERT_TRUE(shape.has_value());
  EXPECT_THAT(shape->row_bytes, ElementsAre(kSeenLater));
  SlotTable table({.batch_rows = 2, .row_bytes = {kSeenLater}}, core::HeapPool());
  const auto place_bytes = [&](int64_t position) {
    return table.Claim(position, 1).at(0).size();
  };
  EXPECT_EQ(place_bytes(0), 0);
  table.See(RowsOf(3, kRowBytes));
  EXPECT_EQ(place_bytes(1), 0) << "its batch was begun elsewhere";
  EXPECT_EQ(place_bytes(2), kRowBytes);
  table.See(RowsOf(1, kRowBytes));
  table.See(RowsOf(1, 2 * kRowBytes));
  EXPECT_EQ(place_bytes(3), kRowBytes) << "its batch has memory";
  EXPECT_EQ(place_bytes(4), 0) << "they are not alike";
  table.See(RowsOf(1, kRowBytes));
  EXPECT_EQ(place_bytes(5), 0) << "for good";
}

TEST(SlotsTest, AreNotForSmallRowsThatWereSeen) {
  SlotTable table({.batch_rows = 2, .row_bytes = {kSeenLater}}, core::HeapPool());
  table.See(RowsOf(3, 64));
  EXPECT_EQ(table.Claim(0, 1).at(0).size(), 0);
}

TEST(SlotsTest, AClaimEndsWithItsBatch) {
  SlotTable table({.batch_rows = 4, .row_bytes = {64}}, core::HeapPool());
  EXPECT_EQ(table.RowsFrom(0), 4);
  EXPECT_EQ(table.RowsFrom(6), 2);
  EXPECT_DEATH(table.Claim(6, 3), "RowsFrom");
}

TEST(SlotsTest, ABatchOfWhichRowsLieElsewhereHasNoMemory) {
  SlotTable table({.batch_rows = 4, .row_bytes = {64}}, core::HeapPool());
  EXPECT_FALSE(table.Claim(2, 1).empty());
  table.GiveUp(3, 3);  // The end of one batch, and the begin of the next.
  EXPECT_TRUE(table.Claim(0, 2).empty());
  EXPECT_TRUE(table.Claim(6, 1).empty());
  EXPECT_EQ(table.open(), 1);
  EXPECT_TRUE(table.Claim(7, 1).empty());
  EXPECT_EQ(table.open(), 0);
  EXPECT_FALSE(table.Claim(8, 4).empty());
}

void ExpectSameAsCopying(const std::string& text) {
  const core::Block plain = Joined(MustRun(text), 1);
  for (const int threads : {1, 3}) {
    Engine engine({.threads = threads});
    const auto iterator = *engine.Open(AsWritten(text), ops::DefaultLibrary(), {});
    std::vector<core::Block> batches;
    while (std::optional<core::Block> batch = *iterator->Next()) {
      batches.push_back(*std::move(batch));
    }
    EXPECT_TRUE(core::SameRows(plain, Joined(batches, 1))) << text;
  }
}

TEST(SlotsTest, GiveTheSameBatchesAsCopying) {
  for (const int64_t rows : {1, 15, 16, 17, 400}) {
    ExpectSameAsCopying(Pipeline(rows, 16));
    ExpectSameAsCopying(UnknownPipeline(rows, "1024 + 0 * .value"));
  }
}

TEST(SlotsTest, GiveTheSameBatchesWhereRowsTurnOutToDiffer) {
  const std::string text = UnknownPipeline(400, "1024 + .value // 128");
  Engine engine({.threads = 2});
  const auto iterator = *engine.Open(AsWritten(text), ops::DefaultLibrary(), {});
  int64_t row = 0;
  while (std::optional<core::Block> batch = *iterator->Next()) {
    const core::Column rows = batch->columns()[0].Unstack();
    for (int64_t i = 0; i < rows.rows(); ++i, ++row) {
      const core::Tensor found = *rows.Row(i);
      ASSERT_EQ(found.count(), 1024 + row / 128);
      EXPECT_EQ(found.values().As<int64_t>().front(), row);
      EXPECT_EQ(found.values().As<int64_t>().back(), row + found.count() - 1);
    }
  }
  EXPECT_EQ(row, 400);
}

TEST(SlotsTest, AreNotWhereRowsMayBeLeftOut) {
  const std::string text = R"(
%0 = range(stop=100)
%1 = map(%0, function={x: normal(0.0, 1.0, shape=[1024]) + 1 // .value})
%2 = batch(%1, size=16)
)";
  const Stage map = {Stage::Kind::kRowWise, 1, 1};
  EXPECT_TRUE(ShapeBehind(text, map));
  EXPECT_FALSE(ShapeBehind(base::StrCat(text, "%3 = ignore_errors(%2)"), map));
}

TEST(SlotsTest, BatchesThatNobodyWillFillAreDropped) {
  SlotTable slots({.batch_rows = 4, .row_bytes = {kRowBytes}}, core::HeapPool());
  for (const int64_t position : {2, 101, 206})
    EXPECT_FALSE(slots.Claim(position, 1).empty());
  EXPECT_EQ(slots.open(), 3);
  slots.Drop(100, 200);
  EXPECT_EQ(slots.open(), 2);
  slots.Drop(0, 1000);
  EXPECT_EQ(slots.open(), 0);
}

}  // namespace
}  // namespace millrace::exec
