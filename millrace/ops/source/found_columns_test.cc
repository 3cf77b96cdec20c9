#include "millrace/ops/source/found_columns.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/codec/crc32c.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/found_rows.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/ops/source/row_builder.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {
namespace {

using testing::ElementsAre;

class FoundColumnsTest : public testing::Test {
 protected:
  // A row whose first field lies in two buffers.
  void Add(const std::string& text, const std::string& other,
           const storage::FoundRow& row = {}) {
    const auto half = std::ssize(text) / 2;
    AddPiece(0, text.substr(0, half));
    AddPiece(0, text.substr(half));
    AddPiece(1, other);
    found_.EndRow(row, number_++);
  }

  void AddPiece(int field, std::string_view text) {
    const core::Buffer buffer =
        *core::CopyBytes(text.data(), std::ssize(text), core::HeapPool());
    found_.AddPiece(field, buffer, 0, std::ssize(text));
  }

  // Two rows of one field, with checksums, and where they lie.
  core::Buffer AddInOneBuffer(int64_t size, int64_t unused = 0) {
    plan_.spec = core::Spec({{.name = "a", .dtype = core::DType::kBytes, .shape = {}}});
    plan_.has_key = false;
    plan_.sums = true;
    const std::string bytes(2 * size + unused, 'x');
    const core::Buffer buffer =
        *core::CopyBytes(bytes.data(), std::ssize(bytes), core::HeapPool());
    for (int64_t row = 0; row < 2; ++row) {
      found_.AddPiece(0, buffer, row * size, size);
      found_.EndRow({.crc = codec::Crc32c(buffer.text().substr(row * size, size))},
                    row);
    }
    return buffer;
  }

  absl::StatusOr<std::optional<core::Block>> Copy() {
    return MakeByField(found_.TakeComplete(), plan_,
                       {.pool = core::HeapPool(), .call_number = 0});
  }

  RowsPlan plan_ = {
      .path = "data/a.bin",
      .split = 3,
      .spec = core::Spec({{.name = "a", .dtype = core::DType::kBytes, .shape = {}},
                          {.name = "b", .dtype = core::DType::kString, .shape = {}},
                          {.name = "key", .dtype = core::DType::kString, .shape = {}}}),
      .has_key = true};
  FoundRows found_;
  int64_t number_ = 100;
};

TEST_F(FoundColumnsTest, CopiesFieldByField) {
  Add("one", "1", {.key = "k1"});
  Add("", "", {.key = ""});
  Add("three", "3", {.key = "k3"});
  const auto block = Copy();
  ASSERT_THAT(block, base::IsOk());
  ASSERT_TRUE(block->has_value());
  EXPECT_THAT(ToPlain({**block}).rows,
              ElementsAre(PlainRow{{"a", "one"}, {"b", "1"}, {"key", "k1"}},
                          PlainRow{{"a", ""}, {"b", ""}, {"key", ""}},
                          PlainRow{{"a", "three"}, {"b", "3"}, {"key", "k3"}}));
  EXPECT_EQ((*block)->IdAt(2), SourceRowId(0, 3, 102));
}

TEST_F(FoundColumnsTest, GivesNothingWhereSomethingIsWrong) {
  EXPECT_FALSE(Copy()->has_value());  // There is nothing.
  Add("one", "\xff");
  EXPECT_FALSE(Copy()->has_value());  // No UTF-8.
  Add("one", "1", {.key = "\xff"});
  EXPECT_FALSE(Copy()->has_value());
  Add("one", "1");
  Add("two", "2", {.why = absl::DataLossError("it is twice there")});
  EXPECT_FALSE(Copy()->has_value());
  Add("one", "1");
  found_.Lose(absl::DataLossError("the rest is gone"));
  EXPECT_FALSE(Copy()->has_value());
}

TEST_F(FoundColumnsTest, GivesNothingWhereAChecksumDoesNotFit) {
  plan_.spec = core::Spec({{.name = "a", .dtype = core::DType::kBytes, .shape = {}}});
  plan_.has_key = false;
  plan_.sums = true;
  for (const uint32_t change : {0U, 1U}) {
    found_ = {};
    AddPiece(0, "one");
    AddPiece(0, " and two");
    found_.EndRow({.crc = codec::Crc32c("one and two") + change}, 0);
    EXPECT_EQ(Copy()->has_value(), change == 0);
  }
}

TEST_F(FoundColumnsTest, TextsThatFillABufferStayThere) {
  const core::Buffer buffer = AddInOneBuffer(4096, 8192);
  const core::Column texts = (**Copy()).columns()[0];
  EXPECT_TRUE(texts.HasGaps());
  EXPECT_EQ(texts.values().data(), buffer.data());
  EXPECT_EQ(texts.TextAt(0), std::string(4096, 'x'));
  EXPECT_EQ(texts.content_bytes(), 8192);
}

TEST_F(FoundColumnsTest, OthersAreCopiedSoThatABufferIsNotKept) {
  AddInOneBuffer(4096, 8193);  // More than half would be kept for nothing.
  EXPECT_FALSE((**Copy()).columns()[0].HasGaps());
  AddInOneBuffer(100);  // Too short for two places each.
  EXPECT_FALSE((**Copy()).columns()[0].HasGaps());
}

TEST_F(FoundColumnsTest, ChecksumsAreCheckedInPlace) {
  core::Buffer buffer = AddInOneBuffer(4096);
  buffer.mutable_data()[5000] ^= std::byte{1};
  EXPECT_FALSE(Copy()->has_value());
}

TEST_F(FoundColumnsTest, LeavesLongTextsWhereTheyAre) {
  Add(std::string(2 * kLongTextBytes, 'x'), "1");
  EXPECT_FALSE(Copy()->has_value());
}

}  // namespace
}  // namespace millrace::ops
