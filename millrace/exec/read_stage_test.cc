#include "millrace/exec/read_stage.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
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

// Something that takes waiting, or not.
class Awaited final : public ops::FetchAhead {
 public:
  explicit Awaited(bool at_hand) : there(at_hand) {}

  void Fetch() override { there = true; }

  bool FetchNow() override { return there; }

  bool there;
};

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

// Numbers, one to a block, each fetched ahead, or when it was found; all of it takes
// waiting, or nothing does.
class EagerReader final : public ops::Reader {
 public:
  struct Ways {
    bool at_hand = false;
    bool ahead = true;
    int64_t beyond = 0;  // Fetched ahead, behind the end.
  };

  EagerReader(const lanes::RowRange& rows, const Ways& ways)
      : rows_(rows), ways_(ways), next_ahead_(rows.begin) {}

  absl::Status Fetch() override { return Take(); }

  absl::StatusOr<bool> FetchNow() override {
    if (ahead() == 0 && !ways_.at_hand) return false;
    TRY(Take());
    return true;
  }

  std::shared_ptr<ops::FetchAhead> Ahead() override {
    if (!ways_.ahead || next_ahead_ >= rows_.end + ways_.beyond) return nullptr;
    ++next_ahead_;
    ahead_.push_back(std::make_shared<Awaited>(ways_.at_hand));
    return ahead_.back();
  }

  int64_t ahead() const override { return std::ssize(ahead_); }

  absl::StatusOr<std::optional<core::Block>> Next(ops::BadRows&) override {
    return absl::InternalError("not asked for");
  }

  absl::StatusOr<std::optional<ops::FoundWork>> Find() override {
    if (rows_.begin == rows_.end) return std::nullopt;
    const int64_t number = rows_.begin++;
    next_ahead_ = std::max(next_ahead_, rows_.begin);
    auto late = std::make_shared<Awaited>(ways_.ahead || ways_.at_hand);
    ops::FoundWork work = [number, late](ops::RowsSink& sink) {
      CHECK(late->there) << "made before it was fetched";
      return sink.Give(ops::Numbers(number, number + 1));
    };
    work.wanted = {late};
    return work;
  }

 private:
  absl::Status Take() {
    if (ahead_.empty()) return absl::OkStatus();
    CHECK(ahead_.front()->there) << "taken before it was there";
    ahead_.pop_front();
    return absl::OkStatus();
  }

  lanes::RowRange rows_;
  const Ways ways_;
  int64_t next_ahead_;
  std::deque<std::shared_ptr<Awaited>> ahead_;
};

class NumberSource final : public ops::Source {
 public:
  int64_t at_hand = 0;
  std::optional<EagerReader::Ways> eager = {};

  absl::StatusOr<lanes::Manifest> List() override { return lanes::Manifest{}; }

  absl::StatusOr<std::unique_ptr<ops::Reader>> Open(
      const lanes::RowRange& rows) const override {
    if (eager) return std::make_unique<EagerReader>(rows, *eager);
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
    EXPECT_EQ(making.back().reading.number, i);
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

TEST_F(ReadStageTest, WhatIsFetchedAheadOrLateComesInOrder) {
  for (const bool at_hand : {false, true}) {
    for (const bool ahead : {false, true}) {
      source_.eager = {.at_hand = at_hand, .ahead = ahead};
      out_ = CollectedItems();
      const auto stage = MakeStage({{0, 20, 29}, {0, 5, 8}});
      RunAll(*stage);
      EXPECT_THAT(out_.values(),
                  ElementsAre(20, 21, 22, 23, 24, 25, 26, 27, 28, 5, 6, 7));
      EXPECT_TRUE(out_.ended());
    }
  }
}

TEST_F(ReadStageTest, TheDeliveredPartIsFetchedAheadByAllThreads) {
  source_.eager = {.at_hand = false, .ahead = true};
  work_.readers = 3;
  const auto stage = MakeStage({{0, 0, 100}, {0, 100, 200}});
  Task opens;
  ASSERT_TRUE(stage->ClaimFetch(memory_, true, opens));
  Finish(*stage, opens);
  std::vector<Task> fetches(5);
  for (int i = 0; i < 4; ++i) {  // Three ahead, and the part behind.
    EXPECT_TRUE(stage->ClaimFetch(memory_, true, fetches[i])) << i;
  }
  EXPECT_FALSE(stage->ClaimFetch(memory_, true, fetches[4]));
  const auto number_of = [&](int i) { return fetches[i].reading.number; };
  std::vector<int64_t> numbers = {number_of(0), number_of(1), number_of(2),
                                  number_of(3)};
  EXPECT_THAT(numbers, ::testing::UnorderedElementsAre(-1, 0, 1, 2));
  for (int i = 3; i >= 0; --i) Finish(*stage, fetches[i]);
  RunComputing(*stage);
  EXPECT_THAT(out_.values(), ::testing::Contains(2));
}

TEST_F(ReadStageTest, APartMayEndWhileSomethingIsFetchedAhead) {
  source_.eager = {.at_hand = false, .ahead = true, .beyond = 5};
  work_.readers = 3;
  for (const bool another : {false, true}) {
    out_ = CollectedItems();
    std::vector<lanes::RowRange> parts = {{0, 40, 41}};
    if (another) parts.push_back({0, 50, 51});
    const auto stage = MakeStage(parts);
    Task task;
    ASSERT_TRUE(stage->ClaimFetch(memory_, true, task));
    Finish(*stage, task);
    std::vector<Task> aheads(3);
    for (Task& ahead : aheads) {
      ASSERT_TRUE(stage->ClaimFetch(memory_, true, ahead));
      if (ahead.reading.ahead == nullptr) {  // It opens the part behind.
        Finish(*stage, ahead);
        ASSERT_TRUE(stage->ClaimFetch(memory_, true, ahead));
      }
    }
    for (int i : {0, 1}) Finish(*stage, aheads[i]);
    RunComputing(*stage);
    EXPECT_THAT(out_.values(), ::testing::Contains(40));
    Finish(*stage, aheads[2]);  // Of a part that is no more.
    RunAll(*stage);
    EXPECT_TRUE(out_.ended());
  }
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
