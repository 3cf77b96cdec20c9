#include "millrace/ops/good_rows.h"

#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Passes rows on, and fails on blocks with any of these numbers: on the last of them,
// as a kernel may that looks at columns in its own order.
class FailsOn {
 public:
  explicit FailsOn(std::set<int64_t> numbers) : numbers_(std::move(numbers)) {}

  absl::StatusOr<core::Block> operator()(const core::Block& rows) const {
    absl::Status status;
    for (const int64_t number : rows.Find("value")->As<int64_t>()) {
      if (numbers_.contains(number)) {
        status = absl::DataLossError(base::StrCat("row 0: bad ", number));
      }
    }
    if (!status.ok()) return status;
    return rows;
  }

 private:
  std::set<int64_t> numbers_;
};

std::vector<int64_t> ValuesOf(const Collector& out) {
  std::vector<int64_t> values;
  for (const core::Block& block : out.blocks) {
    const auto part = block.Find("value")->As<int64_t>();
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

// What an operator makes of rows reaches `use` together with the rows it was made of.
TEST(GoodRowsTest, UsesGoodRowsOneRunAfterAnother) {
  LeavesOut left_out;
  std::vector<std::string> used;
  const auto use = [&](const core::Block& rows, const core::Block& made) {
    EXPECT_TRUE(core::SameRows(rows, made));
    used.push_back(base::StrCat(rows.Find("value")->As<int64_t>()[0], " and ",
                                rows.rows() - 1,
                                " more; left out before: ", left_out.reasons.size()));
    return absl::OkStatus();
  };
  EXPECT_THAT(UseGoodRows<core::Block>(Numbers(0, 8), FailsOn({5}), use, left_out),
              base::IsOk());
  EXPECT_THAT(used, ElementsAre("0 and 3 more; left out before: 0",
                                "4 and 0 more; left out before: 0",
                                "6 and 1 more; left out before: 1"));
  EXPECT_THAT(left_out.reasons, ElementsAre("bad 5"));
}

TEST(GoodRowsTest, WhatFailsInUseIsNoRowsFault) {
  LeavesOut left_out;
  const auto use = [](const core::Block&, const core::Block&) {
    return absl::DataLossError("from behind");
  };
  EXPECT_EQ(
      UseGoodRows<core::Block>(Numbers(0, 8), FailsOn({}), use, left_out).message(),
      "from behind");
  EXPECT_THAT(left_out.reasons, IsEmpty());
}

TEST(GoodRowsTest, WithoutABadRowTheBlockStaysWhole) {
  Collector out;
  ASSERT_THAT(EmitGoodRows(Numbers(0, 100), FailsOn({}), NoBadRows(), out),
              base::IsOk());
  ASSERT_EQ(out.blocks.size(), 1U);
  EXPECT_EQ(out.blocks[0].rows(), 100);
}

TEST(GoodRowsTest, LeavesOutExactlyTheRowsThatFail) {
  for (const std::set<int64_t>& bad : {std::set<int64_t>{0},
                                       {12},
                                       {3, 4, 9},
                                       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}) {
    Collector out;
    LeavesOut left_out;
    ASSERT_THAT(EmitGoodRows(Numbers(0, 13), FailsOn(bad), left_out, out),
                base::IsOk());
    std::vector<int64_t> good;
    std::vector<std::string> reasons;
    for (int64_t number = 0; number < 13; ++number) {
      if (bad.contains(number)) {
        reasons.push_back(base::StrCat("bad ", number));
      } else {
        good.push_back(number);
      }
    }
    EXPECT_EQ(ValuesOf(out), good);
    EXPECT_EQ(left_out.reasons, reasons);
  }
}

TEST(GoodRowsTest, StopsAtTheFirstBadRowWithAllBeforeItGiven) {
  Collector out;
  EXPECT_THAT(EmitGoodRows(Numbers(0, 100), FailsOn({31, 60, 99}), NoBadRows(), out),
              base::StatusIs(absl::StatusCode::kDataLoss, "bad 31"));
  EXPECT_EQ(std::ssize(ValuesOf(out)), 31);
}

TEST(GoodRowsTest, AnErrorThatIsNoRowsIsNotTriedAgain) {
  int calls = 0;
  LeavesOut left_out;
  Collector out;
  const auto full = [&](const core::Block&) -> absl::StatusOr<core::Block> {
    ++calls;
    return absl::ResourceExhaustedError("memory is full");
  };
  EXPECT_THAT(EmitGoodRows(Numbers(0, 100), full, left_out, out),
              base::StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(left_out.reasons, IsEmpty());
}

// Takes nothing.
class Refuses final : public Emitter {
 public:
  absl::Status Emit(core::Block /*block*/) override {
    return absl::DataLossError("wrong for the reader");
  }

  absl::Status EmitTail(int64_t /*key*/, core::Block /*rows*/) override {
    return absl::OkStatus();
  }
};

TEST(GoodRowsTest, TheReadersErrorIsNotTheRows) {
  LeavesOut left_out;
  Refuses out;
  EXPECT_THAT(EmitGoodRows(Numbers(0, 100), FailsOn({50}), left_out, out),
              base::StatusIs(absl::StatusCode::kDataLoss, "wrong for the reader"));
  EXPECT_THAT(left_out.reasons, IsEmpty());
}

// Remembers the rows themselves.
class Remembers final : public BadRows {
 public:
  absl::Status LeaveOut(const BadRow& row) override {
    rows.push_back(row);
    return absl::OkStatus();
  }

  std::vector<BadRow> rows;
};

absl::StatusOr<core::Block> FailsAlways(const core::Block& /*rows*/) {
  return absl::OutOfRangeError("index 3 of 2");
}

TEST(GoodRowsTest, TellsWhichRowItIs) {
  Remembers bad;
  Collector out;
  ASSERT_THAT(EmitGoodRows(Numbers(7, 9), FailsAlways, bad, out), base::IsOk());
  ASSERT_EQ(bad.rows.size(), 2U);
  EXPECT_EQ(bad.rows[1].id, SourceRowId(0, 0, 8));
  EXPECT_EQ(bad.rows[1].rows, 1);
  EXPECT_EQ(bad.rows[1].why.code(), absl::StatusCode::kDataLoss);
}

TEST(GoodRowsTest, OfABatchTellsItsFirstRowAndHowManyThereAre) {
  Remembers bad;
  Collector out;
  ASSERT_THAT(EmitGoodRows(Numbers(0, 8).Stack(4), FailsAlways, bad, out),
              base::IsOk());
  ASSERT_EQ(bad.rows.size(), 2U);
  EXPECT_EQ(bad.rows[1].id, SourceRowId(0, 0, 4));
  EXPECT_EQ(bad.rows[1].rows, 4);
}

TEST(GoodRowsTest, ABlockOfWhichNothingIsLeftIsNotPassedOn) {
  Collector out;
  const auto none = [](const core::Block& rows) -> absl::StatusOr<core::Block> {
    return rows.Slice(0, 0);
  };
  ASSERT_THAT(EmitGoodRows(Numbers(0, 3), none, NoBadRows(), out), base::IsOk());
  EXPECT_THAT(out.blocks, IsEmpty());
}

}  // namespace
}  // namespace millrace::ops
