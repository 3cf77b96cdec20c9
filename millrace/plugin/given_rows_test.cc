// The callbacks as a plug-in calls them, and calls them wrongly.

#include "millrace/plugin/given_rows.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/plugin/millrace_plugin.h"

namespace millrace::plugin {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Numbers = std::vector<int64_t>;

// An operator's lane: rows of `value` come in, and `twice` is promised beside it.
class Lane {
 public:
  explicit Lane(int32_t traits, int64_t rows_held = 0)
      : given_({.spec = core::Spec({{"value", core::DType::kInt64, {}},
                                    {"twice", core::DType::kInt64, {}}}),
                .traits = traits,
                .rows_held = rows_held},
               {.pool = core::HeapPool(),
                .lane = {3, 4},
                .bad_rows = left_out,
                .input = &input_}) {}

  void Push(int64_t begin, int64_t end) {
    given_.BeginPush(ops::Numbers(begin, end), out);
  }

  bool Begin(const Numbers& from) {
    const MillraceEmitter emitter = given_.Callbacks();
    return emitter.begin(emitter.host, std::ssize(from), from.data()) == kMillraceOk;
  }

  bool Allocate(int64_t field, int64_t number) {
    const MillraceEmitter emitter = given_.Callbacks();
    MillraceRoom room = {};
    if (emitter.allocate(emitter.host, field, &room) != kMillraceOk) return false;
    std::memcpy(room.data, &number, sizeof(number));
    return true;
  }

  bool BadRow(int64_t row, const char* why) {
    const MillraceEmitter emitter = given_.Callbacks();
    return emitter.bad_row(emitter.host, row, why) == kMillraceOk;
  }

  // Begins rows, and writes twice their numbers.
  bool Give(const Numbers& from) {
    bool good = Begin(from);
    for (const int64_t number : from) good = good && Allocate(1, 2 * number);
    return good;
  }

  Numbers Values(const std::string& field) const {
    Numbers values;
    for (const core::Block& block : out.blocks) {
      const auto more = block.Find(field)->As<int64_t>();
      values.insert(values.end(), more.begin(), more.end());
    }
    return values;
  }

  std::string Said() const { return std::string(given_.status().message()); }

  GivenRows& given() { return given_; }

  ops::Collector out;
  ops::LeavesOut left_out;

 private:
  const core::Spec input_ = core::Spec({{"value", core::DType::kInt64, {}}});
  GivenRows given_;
};

TEST(GivenRowsTest, FieldsThatNobodyAskedForStayAsTheyWere) {
  Lane lane(kMillraceFewerRows);
  lane.Push(0, 5);
  ASSERT_TRUE(lane.Give({4, 1}));
  ASSERT_THAT(lane.given().End(), IsOk());
  EXPECT_THAT(lane.Values("value"), ElementsAre(4, 1));
  EXPECT_THAT(lane.Values("twice"), ElementsAre(8, 2));
  EXPECT_EQ(lane.out.blocks[0].IdAt(0), ops::Numbers(4, 5).IdAt(0));
  EXPECT_EQ(lane.out.blocks[0].IdAt(1), ops::Numbers(1, 2).IdAt(0));
}

TEST(GivenRowsTest, FieldsOfTheInputMayBeGivenAnew) {
  Lane lane(kMillraceRowWise);
  lane.Push(0, 1);
  ASSERT_TRUE(lane.Give({0}));
  ASSERT_TRUE(lane.Allocate(0, 77));
  ASSERT_THAT(lane.given().End(), IsOk());
  EXPECT_THAT(lane.Values("value"), ElementsAre(77));
}

TEST(GivenRowsTest, WhatWasBegunBeforeIsPassedOn) {
  Lane lane(kMillraceRowWise);
  lane.Push(0, 3);
  ASSERT_TRUE(lane.Give({0, 1}));
  EXPECT_THAT(lane.out.blocks, IsEmpty());
  ASSERT_TRUE(lane.Begin({}));  // None is fine too.
  EXPECT_THAT(lane.out.blocks, SizeIs(1));
  ASSERT_TRUE(lane.Give({2}));
  ASSERT_THAT(lane.given().End(), IsOk());
  EXPECT_THAT(lane.out.blocks, SizeIs(2));
  EXPECT_THAT(lane.Values("twice"), ElementsAre(0, 2, 4));
}

TEST(GivenRowsTest, RowsHeldAreInReachOthersAreNot) {
  Lane lane(kMillraceFewerRows, /*rows_held=*/2);
  lane.Push(0, 5);
  ASSERT_THAT(lane.given().End(), IsOk());
  lane.Push(5, 6);
  EXPECT_EQ(lane.given().first(), 5);
  ASSERT_TRUE(lane.Give({3, 5}));
  EXPECT_FALSE(lane.Begin({2}));
  EXPECT_THAT(lane.Said(), AllOf(HasSubstr("number 2"), HasSubstr("3 up to 6"),
                                 HasSubstr("rows_held")));
}

TEST(GivenRowsTest, TheEndGivesWhatWasHeld) {
  Lane lane(kMillraceFewerRows, /*rows_held=*/2);
  lane.Push(0, 5);
  ASSERT_THAT(lane.given().End(), IsOk());
  lane.given().BeginFinish(lane.out);
  ASSERT_TRUE(lane.Give({4, 3}));
  ASSERT_THAT(lane.given().End(), IsOk());
  EXPECT_THAT(lane.Values("value"), ElementsAre(4, 3));
}

TEST(GivenRowsTest, RowsBehindTheCallAreOutOfReach) {
  for (const int64_t number : {int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN}) {
    Lane lane(kMillraceMoreRows);
    lane.Push(0, 3);
    EXPECT_FALSE(lane.Begin({number}));
    EXPECT_THAT(lane.Said(), HasSubstr("0 up to 3"));
  }
}

TEST(GivenRowsTest, OneRowComesFromEachUnlessThereAreMore) {
  Lane one(kMillraceFewerRows);
  one.Push(0, 3);
  ASSERT_TRUE(one.Give({1}));
  EXPECT_FALSE(one.Begin({1}));
  EXPECT_THAT(one.Said(), HasSubstr("two rows from number 1"));
  Lane more(kMillraceMoreRows);
  more.Push(0, 3);
  ASSERT_TRUE(more.Give({1, 1}));
  ASSERT_TRUE(more.Give({1}));
  ASSERT_TRUE(more.Give({2}));
  ASSERT_THAT(more.given().End(), IsOk());
  EXPECT_THAT(more.Values("value"), ElementsAre(1, 1, 1, 2));
  const core::Block& first = more.out.blocks[0];
  const core::Block& second = more.out.blocks[1];
  EXPECT_NE(first.IdAt(0), first.IdAt(1));  // Draws behind differ.
  EXPECT_NE(first.IdAt(0), second.IdAt(0));
  EXPECT_NE(first.IdAt(1), second.IdAt(0));
}

TEST(GivenRowsTest, MoreRowsThanThereAreAreRefused) {
  Lane lane(kMillraceFewerRows);
  lane.Push(0, 2);
  EXPECT_FALSE(lane.Begin({0, 1, 1}));
  EXPECT_THAT(lane.Said(), HasSubstr("3 rows from 2"));
}

TEST(GivenRowsTest, CountsThatAreNoneAreRefused) {
  for (const int64_t rows : {int64_t{-1}, int64_t{2}, INT64_MAX, INT64_MIN}) {
    Lane lane(kMillraceMoreRows);
    lane.Push(0, 2);
    const MillraceEmitter emitter = lane.given().Callbacks();
    EXPECT_NE(emitter.begin(emitter.host, rows, nullptr), kMillraceOk) << rows;
  }
}

TEST(GivenRowsTest, RowWiseOnesKeepTheOrderAndTheNumber) {
  Lane order(kMillraceRowWise);
  order.Push(0, 3);
  ASSERT_TRUE(order.Give({1}));
  EXPECT_FALSE(order.Begin({0}));
  EXPECT_THAT(order.Said(), HasSubstr("order"));
  Lane count(kMillraceRowWise);
  count.Push(0, 3);
  ASSERT_TRUE(count.Give({0, 2}));
  EXPECT_THAT(std::string(count.given().End().message()),
              AllOf(HasSubstr("2 rows of 3"), HasSubstr("kMillraceFewerRows")));
  Lane fewer(kMillraceRowWise | kMillraceFewerRows);
  fewer.Push(0, 3);
  ASSERT_TRUE(fewer.Give({0, 2}));
  EXPECT_THAT(fewer.given().End(), IsOk());
}

TEST(GivenRowsTest, OthersMayHoldRowsBackUpToTheEnd) {
  Lane lane(0, /*rows_held=*/3);
  lane.Push(0, 3);
  ASSERT_THAT(lane.given().End(), IsOk());
  EXPECT_THAT(std::string(lane.given().CheckCount().message()),
              HasSubstr("0 rows of 3"));
  lane.given().BeginFinish(lane.out);
  ASSERT_TRUE(lane.Give({2, 1, 0}));
  ASSERT_THAT(lane.given().End(), IsOk());
  EXPECT_THAT(lane.given().CheckCount(), IsOk());
}

TEST(GivenRowsTest, WrongRowsAreLeftOutAndCountAsGiven) {
  Lane lane(kMillraceRowWise | kMillraceCanFail);
  lane.Push(0, 3);
  ASSERT_TRUE(lane.Give({0}));
  ASSERT_TRUE(lane.BadRow(1, "it is torn"));
  EXPECT_THAT(lane.out.blocks, SizeIs(1));  // What came before it.
  ASSERT_TRUE(lane.Give({2}));
  ASSERT_THAT(lane.given().End(), IsOk());
  EXPECT_THAT(lane.left_out.reasons, ElementsAre(HasSubstr("it is torn")));
  EXPECT_THAT(lane.Values("value"), ElementsAre(0, 2));
}

TEST(GivenRowsTest, RowsThatCannotBeWrongAreRefused) {
  struct Wrong {
    int32_t traits;
    int64_t row;
    const char* why;
    std::string said;
  };

  const std::vector<Wrong> all = {
      {0, 6, "torn", "is not kMillraceCanFail"},
      {kMillraceCanFail, 4, "torn", "no row of the call"},  // Of the one before.
      {kMillraceCanFail, 8, "torn", "no row of the call"},
      {kMillraceCanFail, -1, "torn", "no row of the call"},
      {kMillraceCanFail, 5, "torn", "gave a row from it before"},
      {kMillraceCanFail, 6, nullptr, "does not say why"}};
  for (const Wrong& wrong : all) {
    Lane lane(wrong.traits | kMillraceFewerRows, /*rows_held=*/2);
    lane.Push(0, 5);
    ASSERT_THAT(lane.given().End(), IsOk());
    lane.Push(5, 8);
    ASSERT_TRUE(lane.Give({5}));
    EXPECT_FALSE(lane.BadRow(wrong.row, wrong.why));
    EXPECT_THAT(lane.Said(), HasSubstr(wrong.said));
    EXPECT_THAT(lane.left_out.reasons, IsEmpty());
  }
}

TEST(GivenRowsTest, NothingComesFromAWrongRow) {
  Lane lane(kMillraceFewerRows | kMillraceCanFail);
  lane.Push(0, 3);
  ASSERT_TRUE(lane.BadRow(1, "torn"));
  EXPECT_FALSE(lane.Begin({1}));
}

TEST(GivenRowsTest, RoomIsForFieldsOfRowsThatWereBegun) {
  for (const int64_t field : {int64_t{-1}, int64_t{2}, INT64_MAX}) {
    Lane lane(kMillraceRowWise);
    lane.Push(0, 1);
    ASSERT_TRUE(lane.Begin({0}));
    EXPECT_FALSE(lane.Allocate(field, 1));
    EXPECT_THAT(lane.Said(), HasSubstr("of 2"));
  }
  Lane early(kMillraceRowWise);
  early.Push(0, 1);
  EXPECT_FALSE(early.Allocate(0, 1));
  EXPECT_THAT(early.Said(), HasSubstr("begin first"));
}

TEST(GivenRowsTest, RoomIsForAsManyRowsAsWereBegun) {
  Lane more(kMillraceRowWise);
  more.Push(0, 2);
  ASSERT_TRUE(more.Give({0}));
  EXPECT_FALSE(more.Allocate(1, 1));
  Lane none(kMillraceFewerRows);
  none.Push(0, 2);
  ASSERT_TRUE(none.Begin({}));
  EXPECT_FALSE(none.Allocate(1, 1));
  Lane fewer(kMillraceRowWise);
  fewer.Push(0, 2);
  ASSERT_TRUE(fewer.Begin({0, 1}));
  ASSERT_TRUE(fewer.Allocate(1, 1));
  EXPECT_THAT(std::string(fewer.given().End().message()),
              AllOf(HasSubstr("field twice"), HasSubstr("1 of 2 rows")));
}

TEST(GivenRowsTest, ANewFieldNeedsValues) {
  Lane lane(kMillraceRowWise);
  lane.Push(0, 2);
  ASSERT_TRUE(lane.Begin({0, 1}));
  EXPECT_THAT(std::string(lane.given().End().message()),
              HasSubstr("no values for field twice"));
}

TEST(GivenRowsTest, TheFirstFailureStays) {
  Lane lane(kMillraceFewerRows | kMillraceCanFail);
  lane.Push(0, 3);
  EXPECT_FALSE(lane.Begin({9}));
  const std::string said = lane.Said();
  EXPECT_FALSE(lane.Begin({0}));
  EXPECT_FALSE(lane.Allocate(1, 1));
  EXPECT_FALSE(lane.BadRow(1, "torn"));
  EXPECT_EQ(lane.Said(), said);
  EXPECT_THAT(lane.out.blocks, IsEmpty());
  EXPECT_THAT(lane.left_out.reasons, IsEmpty());
}

// Takes nothing.
class Refuses final : public ops::Emitter {
 public:
  absl::Status Emit(core::Block) override { return absl::CancelledError("enough"); }

  absl::Status EmitTail(int64_t, core::Block) override {
    return absl::CancelledError("enough");
  }
};

TEST(GivenRowsTest, WhoTakesTheRowsMayEndIt) {
  Refuses refuses;
  Lane lane(kMillraceRowWise);
  lane.given().BeginPush(ops::Numbers(0, 2), refuses);
  ASSERT_TRUE(lane.Give({0}));
  EXPECT_FALSE(lane.Begin({1}));
  EXPECT_THAT(lane.given().status(), StatusIs(absl::StatusCode::kCancelled, "enough"));
}

}  // namespace
}  // namespace millrace::plugin
