#include "millrace/exec/read_stage.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/exec/collected_items_test.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Numbers, two to a block, each block to be fetched first; number 13 cannot be read,
// those below `at_hand` take no waiting, and number 30 is wrong.
class NumberReader final : public ops::Reader {
 public:
  NumberReader(const lanes::RowRange& rows, int64_t at_hand)
      : rows_(rows), at_hand_(at_hand) {}

  absl::Status Fetch() override {
    fetched_ = true;
    if (rows_.begin == 13) return absl::UnavailableError("the disk is gone");
    return absl::OkStatus();
  }

  absl::StatusOr<bool> FetchNow() override {
    fetched_ = fetched_ || rows_.begin < at_hand_;
    return fetched_;
  }

  absl::StatusOr<std::optional<core::Block>> Next(ops::BadRows& bad_rows) override {
    CHECK(std::exchange(fetched_, false)) << "Next without Fetch";
    if (rows_.begin == rows_.end) return std::nullopt;
    if (rows_.begin == 30) {
      TRY(bad_rows.LeaveOut({.why = absl::DataLossError("30 is wrong")}));
      ++rows_.begin;
    }
    const int64_t begin = rows_.begin;
    rows_.begin = std::min(rows_.end, begin + 2);
    return ops::Numbers(begin, rows_.begin);
  }

 private:
  lanes::RowRange rows_;
  const int64_t at_hand_;
  bool fetched_ = false;
};

class NumberSource final : public ops::Source {
 public:
  int64_t at_hand = 0;

  absl::StatusOr<lanes::Manifest> List() override { return lanes::Manifest{}; }

  absl::StatusOr<std::unique_ptr<ops::Reader>> Open(
      const lanes::RowRange& rows) const override {
    return std::make_unique<NumberReader>(rows, at_hand);
  }
};

class ReadStageTest : public ::testing::Test {
 protected:
  std::unique_ptr<ReadStage> MakeStage(const std::vector<lanes::RowRange>& ranges) {
    std::vector<ops::RowRanges> parts;
    for (const lanes::RowRange& range : ranges) parts.push_back({range});
    return std::make_unique<ReadStage>(work_, 3, std::move(parts), out_, meters_);
  }

  static void Finish(ReadStage& stage, Task& task) {
    stage.Run(task, 0);
    stage.Complete(std::exchange(task, {}));
  }

  // Does all that takes no waiting.
  void RunComputing(ReadStage& stage) {
    Task task;
    while (stage.Claim(memory_, true, task)) Finish(stage, task);
  }

  // Does what can be done; the last claimed is completed first.
  void RunAll(ReadStage& stage) {
    while (true) {
      std::vector<Task> tasks;
      Task task;
      while (stage.ClaimFetch(memory_, true, task) ||
             stage.Claim(memory_, true, task)) {
        tasks.push_back(std::exchange(task, {}));
      }
      if (tasks.empty()) return;
      for (; !tasks.empty(); tasks.pop_back()) {
        stage.Run(tasks.back(), 0);
        stage.Complete(std::move(tasks.back()));
      }
    }
  }

  NumberSource source_;
  ReadWork work_ = {.source = source_,
                    .name = "numbers (%0)",
                    .pool = core::HeapPool(),
                    .readers = 2};
  base::ManualClock clock_;
  Meters meters_{1, clock_};
  Memory memory_{core::HeapPool(), int64_t{1} << 40};
  CollectedItems out_;
};

TEST_F(ReadStageTest, RangesComeInTheirOrderWhoeverReadsFaster) {
  const auto stage = MakeStage({{0, 20, 25}, {0, 0, 3}, {0, 7, 8}});
  RunAll(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(20, 21, 22, 23, 24, 0, 1, 2, 7));
  EXPECT_TRUE(out_.ended());
  EXPECT_EQ(meters_.Read()[0].rows_out, 9);
}

TEST_F(ReadStageTest, OpensAFewReadersAtATime) {
  const auto stage = MakeStage({{0, 0, 5}, {0, 5, 9}, {0, 9, 12}});
  EXPECT_FALSE(stage->all_opened());
  std::vector<Task> tasks(3);
  EXPECT_TRUE(stage->ClaimFetch(memory_, true, tasks[0]));
  EXPECT_TRUE(stage->ClaimFetch(memory_, true, tasks[1]));
  EXPECT_FALSE(stage->ClaimFetch(memory_, true, tasks[2]));
}

TEST_F(ReadStageTest, DoesNotReadFarAheadWhereNothingIsTaken) {
  const auto stage = MakeStage({{0, 20, 1000}, {0, 1000, 2000}});
  out_.set_has_room(false);
  RunAll(*stage);
  EXPECT_THAT(out_.values(), ElementsAre());
  EXPECT_LE(meters_.Read()[0].rows_out, 6);
}

TEST_F(ReadStageTest, WhatIsAtHandTakesNoFurtherFetch) {
  source_.at_hand = 6;
  const auto stage = MakeStage({{0, 0, 10}});
  Task task;
  ASSERT_TRUE(stage->ClaimFetch(memory_, true, task));  // It opens files too.
  Finish(*stage, task);
  RunComputing(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3, 4, 5));
  ASSERT_TRUE(stage->ClaimFetch(memory_, true, task));
  Finish(*stage, task);
  RunComputing(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  // Where there was something to wait for it is expected again, without a try.
  EXPECT_TRUE(stage->ClaimFetch(memory_, true, task));
}

TEST_F(ReadStageTest, BlocksAreMadeWhileTheReaderGoesOn) {
  source_.at_hand = 100;
  const auto stage = MakeStage({{0, 0, 100}});
  Task fetch;
  ASSERT_TRUE(stage->ClaimFetch(memory_, true, fetch));
  Finish(*stage, fetch);
  std::vector<Task> making;
  for (int i = 0; i < 2; ++i) {
    Task find;
    ASSERT_TRUE(stage->Claim(memory_, true, find));
    Finish(*stage, find);
    making.emplace_back();
    ASSERT_TRUE(stage->Claim(memory_, true, making.back()));
    EXPECT_EQ(making.back().reading.piece, i);
  }
  Finish(*stage, making[1]);
  EXPECT_THAT(out_.values(), ElementsAre());  // It waits for the one before.
  Finish(*stage, making[0]);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3));
}

TEST_F(ReadStageTest, FindsNoMoreThanThereAreReadersForWhileNothingIsMade) {
  source_.at_hand = 100;
  const auto stage = MakeStage({{0, 0, 100}});
  Task task;
  ASSERT_TRUE(stage->ClaimFetch(memory_, true, task));
  Finish(*stage, task);
  std::vector<Task> making(3);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stage->Claim(memory_, true, task));
    Finish(*stage, task);
    ASSERT_TRUE(stage->Claim(memory_, true, making[i]));
  }
  EXPECT_FALSE(stage->HasWork());
  EXPECT_FALSE(stage->Claim(memory_, true, making[2]));
}

TEST_F(ReadStageTest, ReadingAheadLeavesMemoryForTheWork) {
  core::Pool pool(core::MakeHeapAllocator(), {});
  Memory memory(pool, 1 << 20);
  const auto claims = [&](bool first) {
    Task task;
    return MakeStage({{0, 0, 100}})->ClaimFetch(memory, first, task);
  };
  memory.Start(0);  // Something runs: nobody has to go on whatever the budget says.
  EXPECT_TRUE(claims(false));
  const core::Buffer half = *pool.Allocate(600 << 10);
  EXPECT_FALSE(claims(false));
  EXPECT_TRUE(claims(true));
  const core::Buffer more = *pool.Allocate(300 << 10);
  EXPECT_FALSE(claims(true));
  memory.End(0);
  EXPECT_TRUE(claims(true));  // Else nothing would ever be freed.
  EXPECT_FALSE(claims(false));
}

TEST_F(ReadStageTest, AnErrorNamesTheSourceAndTheLane) {
  const auto stage = MakeStage({{0, 0, 2}, {0, 13, 20}});
  RunAll(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1));
  EXPECT_THAT(out_.items().back().status.message(),
              HasSubstr("numbers (%0), lane 3: the disk is gone"));
}

TEST_F(ReadStageTest, ARowThatIsWrongIsAnErrorOrLeftOut) {
  for (const bool ignored : {false, true}) {
    work_.ignored = ignored;
    out_ = CollectedItems();
    const auto stage = MakeStage({{0, 28, 33}});
    RunAll(*stage);
    ASSERT_GT(out_.items().size(), 1U);
    const Item& second = out_.items()[1];
    const absl::Status& why = ignored ? second.left_out->why : second.status;
    EXPECT_EQ(why.message(), "numbers (%0), lane 3: 30 is wrong");
    const std::vector<int64_t> values = out_.values();
    EXPECT_EQ(values, ignored ? (std::vector<int64_t>{28, 29, 31, 32})
                              : (std::vector<int64_t>{28, 29}));
  }
}

}  // namespace
}  // namespace millrace::exec
