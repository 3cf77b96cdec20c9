#include "millrace/ops/source.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/storage/local_files.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kUnavailable;
using base::StatusIs;
using ::testing::ElementsAre;

// What one piece of work does, in order: "3" gives that row, "-3" leaves it out, "!"
// fails.
using Script = std::vector<std::string>;

absl::Status Play(const Script& script, RowsSink& sink) {
  for (const std::string& step : script) {
    if (step == "!") return absl::UnavailableError("the disk is gone");
    const int64_t row = std::stoll(step);
    if (row < 0) {
      TRY(sink.LeaveOut({.why = absl::DataLossError(step)}));
    } else {
      TRY(sink.Give(Numbers(row, row + 1)));
    }
  }
  return absl::OkStatus();
}

class ScriptFinder final : public FindingReader {
 public:
  explicit ScriptFinder(std::deque<Script> scripts) : scripts_(std::move(scripts)) {}

  absl::StatusOr<std::optional<FoundWork>> Find() override {
    if (scripts_.empty()) return std::nullopt;
    Script script = std::move(scripts_.front());
    scripts_.pop_front();
    return [script = std::move(script)](RowsSink& sink) { return Play(script, sink); };
  }

 private:
  std::deque<Script> scripts_;
};

// The same, one script a block: rows that are wrong come before those that are given.
class ScriptReader final : public Reader {
 public:
  explicit ScriptReader(std::deque<Script> scripts) : scripts_(std::move(scripts)) {}

  absl::StatusOr<std::optional<core::Block>> Next(BadRows& bad_rows) override {
    if (scripts_.empty()) return std::nullopt;
    const Script script = std::move(scripts_.front());
    scripts_.pop_front();
    core::Block block;
    for (const std::string& step : script) {
      if (step == "!") return absl::UnavailableError("the disk is gone");
      const int64_t row = std::stoll(step);
      if (row >= 0) block = Numbers(row, row + 1);
      if (row < 0) TRY(bad_rows.LeaveOut({.why = absl::DataLossError(step)}));
    }
    return block;
  }

 private:
  std::deque<Script> scripts_;
};

// Writes down all that happens, in order.
class Log final : public RowsSink {
 public:
  absl::Status Give(core::Block block) override {
    events.push_back(block.rows() == 0
                         ? "empty"
                         : base::StrCat(block.Find("value")->As<int64_t>()[0]));
    return absl::OkStatus();
  }

  absl::Status LeaveOut(const BadRow& row) override {
    events.emplace_back(row.why.message());
    return absl::OkStatus();
  }

  std::vector<std::string> events;
};

// Reads to the end with Next; an error is written down too.
std::vector<std::string> NextAll(Reader& reader) {
  Log log;
  while (true) {
    absl::StatusOr<std::optional<core::Block>> block = reader.Next(log);
    if (!block.ok()) log.events.emplace_back("!");
    if (!block.ok() || !*block) return log.events;
    EXPECT_THAT(log.Give(**block), base::IsOk());
  }
}

// The same with Find.
std::vector<std::string> FindAll(Reader& reader) {
  Log log;
  while (true) {
    absl::StatusOr<std::optional<FoundWork>> work = reader.Find();
    if (work.ok() && !*work) return log.events;
    const absl::Status status = work.ok() ? (**std::move(work))(log) : work.status();
    if (status.ok()) continue;
    log.events.emplace_back("!");
    return log.events;
  }
}

TEST(SourceTest, NextGivesWhatIsFoundInItsOrder) {
  ScriptFinder reader({{"1", "-2", "3"}, {"4"}});
  EXPECT_THAT(NextAll(reader), ElementsAre("1", "-2", "3", "4"));
}

TEST(SourceTest, NextSaysThatNothingWasFoundThisTime) {
  ScriptFinder reader({{}, {"1"}, {"-2"}});
  EXPECT_THAT(NextAll(reader), ElementsAre("empty", "1", "-2", "empty"));
}

TEST(SourceTest, NextFailsBehindTheRowsBeforeTheError) {
  ScriptFinder reader({{"1", "-2", "3", "!"}, {"4"}});
  EXPECT_THAT(NextAll(reader), ElementsAre("1", "-2", "3", "!"));
}

TEST(SourceTest, NextFailsForARowThatMayNotBeLeftOut) {
  ScriptFinder reader({{"1", "-2", "3"}});
  EXPECT_EQ((*reader.Next(NoBadRows()))->rows(), 1);
  EXPECT_THAT(reader.Next(NoBadRows()), StatusIs(kDataLoss, "-2"));
}

TEST(SourceTest, FindIsMadeOfNext) {
  ScriptReader reader({{"1"}, {"-2", "3"}, {}, {"4"}});
  EXPECT_THAT(FindAll(reader), ElementsAre("1", "-2", "3", "4"));
}

TEST(SourceTest, FindTellsRowsThatAreWrongAtTheEnd) {
  ScriptReader reader({{"1"}, {"-2"}});
  EXPECT_THAT(FindAll(reader), ElementsAre("1", "-2"));
}

TEST(SourceTest, FindTellsRowsThatAreWrongBeforeAnError) {
  ScriptReader reader({{"1"}, {"-2", "!"}});
  EXPECT_THAT(FindAll(reader), ElementsAre("1", "-2", "!"));
  ScriptReader failing({{"!"}});
  EXPECT_THAT(failing.Find(), StatusIs(kUnavailable));
}

// What was found stays right while the reader goes on, and when it is gone.
TEST(SourceTest, WhatWasFoundOutlivesTheReader) {
  auto reader = std::make_unique<ScriptReader>(std::deque<Script>{{"1"}, {"2"}});
  FoundWork first = **reader->Find();
  FoundWork second = **reader->Find();
  reader = nullptr;
  Log log;
  ASSERT_THAT(std::move(second)(log), base::IsOk());
  ASSERT_THAT(std::move(first)(log), base::IsOk());
  EXPECT_THAT(log.events, ElementsAre("2", "1"));
}

TEST(SourceTest, RowsAreIdentifiedBySourceSplitAndPlace) {
  const SourceContext context = {.pool = core::HeapPool(), .call_number = 5};
  const core::Block block = *WithSourceIds(Numbers(0, 4), 7, 100, context);
  EXPECT_EQ(block.IdAt(0), SourceRowId(5, 7, 100));
  EXPECT_EQ(block.IdAt(3), SourceRowId(5, 7, 103));
  EXPECT_NE(SourceRowId(5, 7, 100), SourceRowId(5, 8, 100));
  EXPECT_NE(SourceRowId(5, 7, 100), SourceRowId(6, 7, 100));
}

TEST(SourceTest, RowsThatAreLeftOutLeaveTheOthersTheirIdentities) {
  const SourceContext context = {.pool = core::HeapPool(), .call_number = 5};
  const std::vector<int64_t> numbers = {3, 4, 9, 12};
  const core::Block block = *WithSourceIds(Numbers(0, 4), 7, numbers, context);
  EXPECT_EQ(block.IdAt(0), SourceRowId(5, 7, 3));
  EXPECT_EQ(block.IdAt(2), SourceRowId(5, 7, 9));
  EXPECT_EQ(block.IdAt(3), SourceRowId(5, 7, 12));
}

TEST(SourceTest, FilesComeFromTheProcessUnlessSaidOtherwise) {
  const SourceContext context = {.pool = core::HeapPool()};
  EXPECT_EQ(&context.blobs, &storage::ProcessFiles());
}

TEST(SourceTest, IdentitiesAreMadeOnlyWhereTheyAreNeeded) {
  const SourceContext context = {.pool = core::HeapPool(), .with_ids = false};
  const core::Block plain = Numbers(0, 4);
  const core::Block rows(plain.rows(), plain.shared_names(), plain.columns());
  EXPECT_FALSE(WithSourceIds(rows, 0, 0, context)->has_ids());
}

TEST(SourceTest, AnIdentityTellsWhichRowItIs) {
  EXPECT_EQ(SourceRowOf(SourceRowId(3, 12, 345), 3), (SourceRow{12, 345}));
  EXPECT_EQ(SourceRowOf(SourceRowId(3, 12, 345), 4), std::nullopt);
  // Most hashes are no identity of a source's row.
  EXPECT_EQ(SourceRowOf({0x1234567812345678, 5}, 0), std::nullopt);
  EXPECT_EQ(SourceRowOf({7, 0x8000000000000000}, 0), std::nullopt);
}

}  // namespace
}  // namespace millrace::ops
