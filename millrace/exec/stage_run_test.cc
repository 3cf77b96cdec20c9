#include "millrace/exec/stage_run.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

#include "millrace/ops/single_operator_test.h"

namespace millrace::exec {
namespace {

std::vector<int64_t> ValuesOf(const Item& item) {
  const auto values = item.block.Find("value")->As<int64_t>();
  return {values.begin(), values.end()};
}

TEST(StageRunTest, AQueueGivesRowsInOrderWholeOrInParts) {
  ItemQueue queue({});
  queue.Push(Item::Of(ops::Numbers(0, 5)));
  queue.Push(Item::Of(ops::Numbers(5, 7)));
  EXPECT_EQ(ValuesOf(queue.PopRows(2)), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(ValuesOf(queue.PopRows(9)), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(ValuesOf(queue.Pop()), (std::vector<int64_t>{5, 6}));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0);
}

TEST(StageRunTest, AQueueIsFullByItemsOrByBytesButTakesOneWhenEmpty) {
  ItemQueue few({.items = 2, .bytes = 1 << 20});
  ItemQueue small({.items = 100, .bytes = 1});
  for (ItemQueue* queue : {&few, &small}) {
    EXPECT_TRUE(queue->HasRoom());
    queue->Push(Item::Of(ops::Numbers(0, 5)));
  }
  EXPECT_TRUE(few.HasRoom());
  EXPECT_FALSE(small.HasRoom());
  few.Push(Item::Of(ops::Numbers(0, 5)));
  EXPECT_FALSE(few.HasRoom());
  few.Clear();
  EXPECT_TRUE(few.HasRoom());
}

TEST(StageRunTest, AnErrorIsAnItemWithoutRows) {
  ItemQueue queue({});
  queue.Push(Item::Error(absl::DataLossError("torn")));
  const Item item = queue.PopRows(1);
  EXPECT_EQ(item.status, absl::DataLossError("torn"));
  EXPECT_EQ(item.block.rows(), 0);
}

TEST(StageRunTest, ARunningMeanFollowsChanges) {
  RunningMean mean;
  EXPECT_FALSE(mean.known());
  mean.Add(8);
  EXPECT_EQ(mean.value(), 8);
  mean.Add(16);
  EXPECT_EQ(mean.value(), 9);
  for (int i = 0; i < 100; ++i) mean.Add(100);
  EXPECT_NEAR(mean.value(), 100, 1);
}

TEST(StageRunTest, FirstRowsAreLeftOutWithWhatIsNotedBetweenThem) {
  SkippedRows skipped(5);
  EXPECT_FALSE(skipped.Pass(Item::Of(ops::Numbers(0, 3))).has_value());
  EXPECT_FALSE(skipped.Pass(Item::LeftOut({.why = {}})).has_value());
  EXPECT_EQ(skipped.left(), 2);
  const std::optional<Item> rest = skipped.Pass(Item::Of(ops::Numbers(3, 9)));
  ASSERT_TRUE(rest.has_value());
  EXPECT_EQ(rest->block.rows(), 4);
  EXPECT_EQ(rest->bytes, rest->block.content_bytes());
  EXPECT_EQ(skipped.left(), 0);
  EXPECT_TRUE(skipped.Pass(Item::LeftOut({.why = {}})).has_value());
  EXPECT_EQ(skipped.Pass(Item::Of(ops::Numbers(9, 12)))->block.rows(), 3);
}

TEST(StageRunTest, AnErrorIsNeverLeftOut) {
  SkippedRows skipped(5);
  const std::optional<Item> error =
      skipped.Pass(Item::Error(absl::DataLossError("torn")));
  ASSERT_TRUE(error.has_value());
  EXPECT_FALSE(error->status.ok());
}

}  // namespace
}  // namespace millrace::exec
