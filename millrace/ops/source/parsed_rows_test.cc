#include "millrace/ops/source/parsed_rows.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/found_rows.h"
#include "millrace/ops/source/json_rows.h"
#include "millrace/ops/source/missing.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/ops/source/rows_sink_test.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kResourceExhausted;
using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ParsedRowsTest : public testing::Test {
 protected:
  // A row that lies in a buffer of its own.
  void Add(std::string_view text, const storage::FoundRow& row = {}) {
    found_.AddPiece(0, BufferOf(text), 0, std::ssize(text));
    found_.EndRow(row, number_++);
  }

  absl::Status Give() {
    return GiveParsed(found_.TakeComplete(), plan_,
                      {.pool = core::HeapPool(), .call_number = 0}, sink_);
  }

  RowsPlan plan_ = {.path = "data/a.jsonl",
                    .split = 2,
                    .spec = *core::ParseSpec("{i: int64, s: string}"),
                    .make_parser = [](int64_t rows, core::Pool& pool) {
                      return MakeJsonRows(*core::ParseSpec("{i: int64, s: string}"),
                                          Missing::kError, rows, pool);
                    }};
  FoundRows found_;
  KeepsRows sink_;
  int64_t number_ = 50;
};

TEST_F(ParsedRowsTest, RowsBecomeOneBlockWithTheirIdentities) {
  Add(R"({"i": 1, "s": "a"})");
  Add(R"({"s": "", "i": -2})");
  ASSERT_THAT(Give(), IsOk());
  ASSERT_EQ(sink_.blocks.size(), 1U);
  const PlainRows rows = ToPlain(sink_.blocks);
  EXPECT_THAT(rows.rows, ElementsAre(PlainRow{{"i", "1"}, {"s", "a"}},
                                     PlainRow{{"i", "-2"}, {"s", ""}}));
  EXPECT_THAT(rows.ids, ElementsAre(SourceRowId(0, 2, 50), SourceRowId(0, 2, 51)));
}

TEST_F(ParsedRowsTest, ARowMayLieInSeveralBuffers) {
  found_.AddPiece(0, BufferOf("xx{\"i\": 1, \"s\""), 2, 12);
  found_.AddPiece(0, BufferOf(": \"abc\"}yy"), 0, 8);
  found_.EndRow({}, number_++);
  ASSERT_THAT(Give(), IsOk());
  EXPECT_THAT(ToPlain(sink_.blocks).rows,
              ElementsAre(PlainRow{{"i", "1"}, {"s", "abc"}}));
}

TEST_F(ParsedRowsTest, RowsSideBySideInOneBufferAreToldApart) {
  const std::string first = R"({"i": 1, "s": "a"})";
  const std::string second = R"({"i": 2, "s": "b"})";
  const core::Buffer buffer = BufferOf(first + second);
  found_.AddPiece(0, buffer, 0, std::ssize(first));
  found_.EndRow({}, number_++);
  found_.AddPiece(0, buffer, std::ssize(first), std::ssize(second));
  found_.EndRow({}, number_++);
  ASSERT_THAT(Give(), IsOk());
  EXPECT_THAT(
      ToPlain(sink_.blocks).rows,
      ElementsAre(PlainRow{{"i", "1"}, {"s", "a"}}, PlainRow{{"i", "2"}, {"s", "b"}}));
}

TEST_F(ParsedRowsTest, WrongRowsAreToldBetweenTheOthers) {
  Add(R"({"i": 1, "s": "a"})");
  Add(R"({"i": "x", "s": "b"})", {.begin = 77});
  Add(R"({"i": 3, "s": "c"})",
      {.begin = 99, .why = absl::DataLossError("is twice there")});
  Add(R"({"i": 4, "s": "d"})");
  ASSERT_THAT(Give(), IsOk());
  const PlainRows rows = ToPlain(sink_.blocks);
  EXPECT_THAT(rows.rows, ElementsAre(PlainRow{{"i", "1"}, {"s", "a"}},
                                     PlainRow{{"i", "4"}, {"s", "d"}}));
  EXPECT_THAT(rows.ids, ElementsAre(SourceRowId(0, 2, 50), SourceRowId(0, 2, 53)));
  EXPECT_THAT(sink_.reasons,
              ElementsAre(AllOf(HasSubstr("field i: a string, \"x\", is no int64"),
                                HasSubstr("at byte 77; file data/a.jsonl")),
                          AllOf(HasSubstr("is twice there"), HasSubstr("at byte 99"))));
}

TEST_F(ParsedRowsTest, TheRowsBeforeAWrongOneAreGivenBeforeItIsTold) {
  Add(R"({"i": 1, "s": "a"})");
  Add("{", {.begin = 5});
  Add(R"({"i": 3, "s": "c"})");
  sink_.stops = true;
  EXPECT_THAT(Give(), StatusIs(kDataLoss, HasSubstr("in the row at byte 5")));
  EXPECT_THAT(ToPlain(sink_.blocks).rows,
              ElementsAre(PlainRow{{"i", "1"}, {"s", "a"}}));
}

TEST_F(ParsedRowsTest, WhatIsLostIsToldLast) {
  Add(R"({"i": 1, "s": "a"})");
  found_.Lose(absl::DataLossError("the file ends"));
  ASSERT_THAT(Give(), IsOk());
  EXPECT_EQ(sink_.blocks.size(), 1U);
  EXPECT_THAT(sink_.reasons, ElementsAre("the file ends"));
}

TEST_F(ParsedRowsTest, WhatIsNotTheRowsFaultStopsAll) {
  core::Pool small(core::MakeHeapAllocator(), {.budget_bytes = 64});
  Add(R"({"i": 1, "s": "a"})");
  EXPECT_THAT(GiveParsed(found_.TakeComplete(), plan_, {.pool = small}, sink_),
              StatusIs(kResourceExhausted));
  EXPECT_THAT(sink_.reasons, IsEmpty());
}

}  // namespace
}  // namespace millrace::ops
