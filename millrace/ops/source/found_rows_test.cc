#include "millrace/ops/source/found_rows.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/codec/crc32c.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/ops/source/row_builder.h"
#include "millrace/ops/source/rows_sink_test.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class FoundRowsTest : public testing::Test {
 protected:
  // A row of texts, the first fields of the plan.
  void Add(const std::vector<std::string>& texts, const storage::FoundRow& row = {}) {
    for (int field = 0; field < std::ssize(texts); ++field) {
      found_.AddPiece(field, BufferOf(texts[field]), 0, std::ssize(texts[field]));
    }
    found_.EndRow(row, number_++);
  }

  std::vector<PlainRow> Make() { return ToPlain(MakeBlocks()).rows; }

  std::vector<core::Block> MakeBlocks() {
    status_ = GiveRows(found_.TakeComplete(), plan_,
                       {.pool = core::HeapPool(), .call_number = 0}, sink_);
    return std::exchange(sink_.blocks, {});
  }

  RowsPlan plan_ = {
      .path = "data/a.bin",
      .split = 3,
      .spec = core::Spec({{.name = "a", .dtype = core::DType::kBytes, .shape = {}},
                          {.name = "b", .dtype = core::DType::kInt64, .shape = {}}})};
  FoundRows found_;
  KeepsRows sink_;
  absl::Status status_;
  int64_t number_ = 100;
};

TEST_F(FoundRowsTest, PiecesBecomeFieldsOfTheirTypes) {
  Add({"one", "1"});
  Add({"", "-22"});
  EXPECT_THAT(Make(), ElementsAre(PlainRow{{"a", "one"}, {"b", "1"}},
                                  PlainRow{{"a", ""}, {"b", "-22"}}));
  EXPECT_EQ(found_.rows(), 0);
}

TEST_F(FoundRowsTest, AnOpenRowStaysForTheNextBlock) {
  Add({"one", "1"});
  found_.AddPiece(0, BufferOf("xtwox"), 1, 3);
  EXPECT_THAT(Make(), ElementsAre(PlainRow{{"a", "one"}, {"b", "1"}}));
  found_.AddPiece(1, BufferOf("2"), 0, 1);
  found_.EndRow({}, number_++);
  EXPECT_THAT(Make(), ElementsAre(PlainRow{{"a", "two"}, {"b", "2"}}));
}

TEST_F(FoundRowsTest, ContentMayLieInSeveralBuffers) {
  plan_.sums = true;
  plan_.spec = core::Spec({{.name = "a", .dtype = core::DType::kBytes, .shape = {}}});
  const std::string text = storage::Noise(100'000);
  for (const uint32_t change : {0U, 1U}) {
    found_.AddPiece(0, BufferOf(text.substr(0, 30'001)), 0, 30'001);
    Make();  // What is there of it so far waits.
    found_.AddPiece(0, BufferOf(text.substr(30'001)), 0, 69'999);
    found_.EndRow({.crc = codec::Crc32c(text) + change}, number_++);
    if (change == 0) {
      EXPECT_THAT(Make(), ElementsAre(PlainRow{{"a", text}}));
    } else {
      EXPECT_THAT(Make(), ElementsAre());
      EXPECT_THAT(sink_.reasons, ElementsAre(HasSubstr("does not fit its checksum")));
    }
  }
}

TEST_F(FoundRowsTest, ADroppedRowLeavesNothingBehind) {
  found_.AddPiece(0, BufferOf("gone"), 0, 4);
  found_.DropRow();
  Add({"one", "1"});
  found_.AddPiece(0, BufferOf("gone"), 0, 4);
  found_.DropRow();
  EXPECT_THAT(Make(), ElementsAre(PlainRow{{"a", "one"}, {"b", "1"}}));
}

TEST_F(FoundRowsTest, WrongRowsAreToldAndLeftOut) {
  Add({"one", "1"});
  Add({"two", "no number"}, {.begin = 77});
  Add({"three", "3"}, {.begin = 99, .why = absl::DataLossError("is twice there")});
  Add({"four", "4"});
  EXPECT_THAT(Make(), ElementsAre(PlainRow{{"a", "one"}, {"b", "1"}},
                                  PlainRow{{"a", "four"}, {"b", "4"}}));
  EXPECT_THAT(sink_.reasons,
              ElementsAre(AllOf(HasSubstr("field b is no whole number"),
                                HasSubstr("at byte 77; file data/a.bin")),
                          AllOf(HasSubstr("is twice there"),
                                HasSubstr("at byte 99; file data/a.bin"))));
}

TEST_F(FoundRowsTest, ChecksumsAreComparedWithWhatWasCopied) {
  plan_.spec = core::Spec({{.name = "a", .dtype = core::DType::kBytes, .shape = {}}});
  plan_.sums = true;
  for (const int64_t size : {int64_t{100}, kLongTextBytes}) {
    const std::string text(size, 'x');
    const uint32_t crc = codec::Crc32c(text);
    Add({text}, {.crc = crc});
    Add({text}, {.crc = crc + 1});
    EXPECT_THAT(Make(), ElementsAre(PlainRow{{"a", text}})) << size;
    EXPECT_THAT(sink_.reasons, ElementsAre(HasSubstr("does not fit its checksum")));
    sink_.reasons.clear();
  }
}

TEST_F(FoundRowsTest, ALongTextThatHasABufferOfItsOwnIsNotCopied) {
  const core::Buffer text = BufferOf(std::string(kLongTextBytes, 'x'));
  found_.AddPiece(0, text, 0, text.size());
  found_.AddPiece(1, BufferOf("1"), 0, 1);
  found_.EndRow({}, number_++);
  EXPECT_EQ(MakeBlocks()[0].Find("a")->Row(0)->TextAt(0).data(), text.text().data());
}

TEST_F(FoundRowsTest, RowsKeepTheirNumbersAndKeys) {
  plan_.spec =
      core::Spec({{.name = "a", .dtype = core::DType::kBytes, .shape = {}},
                  {.name = "key", .dtype = core::DType::kString, .shape = {}}});
  plan_.has_key = true;
  Add({"one"}, {.key = "k1"});
  Add({"two"}, {.why = absl::DataLossError("is bad"), .key = "k2"});
  Add({"three"}, {.key = "k3"});
  const PlainRows rows = ToPlain(MakeBlocks());
  EXPECT_THAT(rows.rows, ElementsAre(PlainRow{{"a", "one"}, {"key", "k1"}},
                                     PlainRow{{"a", "three"}, {"key", "k3"}}));
  EXPECT_EQ(rows.ids[1], SourceRowId(0, 3, 102));
}

TEST_F(FoundRowsTest, TheRowsBeforeAWrongOneAreGivenBeforeItIsTold) {
  Add({"one", "1"});
  Add({"two", "2"});
  Add({"three", "x"}, {.begin = 5});
  Add({"four", "4"});
  sink_.stops = true;
  EXPECT_THAT(Make(), ElementsAre(PlainRow{{"a", "one"}, {"b", "1"}},
                                  PlainRow{{"a", "two"}, {"b", "2"}}));
  EXPECT_THAT(status_, StatusIs(kDataLoss, HasSubstr("in the row at byte 5")));
}

TEST_F(FoundRowsTest, WhatIsLostIsToldLast) {
  Add({"one", "1"});
  found_.AddPiece(0, BufferOf("open"), 0, 4);
  found_.Lose(absl::DataLossError("the file ends"));
  EXPECT_FALSE(found_.empty());
  EXPECT_THAT(Make(), ElementsAre(PlainRow{{"a", "one"}, {"b", "1"}}));
  EXPECT_THAT(sink_.reasons, ElementsAre(HasSubstr("the file ends")));
  EXPECT_TRUE(found_.empty());
}

TEST_F(FoundRowsTest, IsFullByRowsOrByBytes) {
  for (int64_t row = 0; row < kBlockRows; ++row) {
    EXPECT_FALSE(found_.is_full());
    Add({"", "1"});
  }
  EXPECT_TRUE(found_.is_full());
  FoundRows large;
  const core::Buffer text = BufferOf(std::string(kBlockBytes, 'x'));
  large.AddPiece(0, text, 0, text.size());
  EXPECT_FALSE(large.is_full());
  large.EndRow({}, 0);
  EXPECT_TRUE(large.is_full());
}

}  // namespace
}  // namespace millrace::ops
