// Fields that nobody reads: what a rewrite makes of them, and that rows stay as they
// are while fewer bytes are read.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/arrow/counting_store_test.h"
#include "millrace/adapters/arrow/module.h"
#include "millrace/adapters/arrow/sample_files_test.h"
#include "millrace/base/golden_file.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/exec/sequential_runner.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/source.h"
#include "millrace/rewrite/cases_test.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::arrow {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class UnreadFieldsTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status module = OpenModule().status();
    if (!module.ok()) GTEST_SKIP() << module;
  }
};

// What is read of a file behind its footer, and the rows.
struct BytesAndRows {
  int64_t bytes = 0;
  core::Block rows;
};

absl::StatusOr<BytesAndRows> ReadCounted(std::string_view call) {
  CountingStore store;
  const std::unique_ptr<ops::Source> source =
      TRY(MakeSource(call, {.pool = core::HeapPool(), .blobs = store}));
  const lanes::Manifest manifest = TRY(source->List());
  const int64_t footer = store.bytes();
  const std::vector<core::Block> blocks =
      TRY(ops::ReadAll(*source, {0, 0, *manifest.splits[0].rows}));
  return BytesAndRows{.bytes = store.bytes() - footer,
                      .rows = TRY(core::Concatenate(blocks, core::HeapPool()))};
}

// Names all fields of a sample but some.
std::string AllBut(std::string_view sample, absl::Span<const std::string_view> kept) {
  std::string names;
  const ir::Pipeline node = *ParseCall(CallFor(Sample(sample)));
  for (const core::FieldSpec& field : node.spec().fields()) {
    if (std::ranges::count(kept, field.name) > 0) continue;
    names += base::StrCat(names.empty() ? "\"" : ", \"", field.name, "\"");
  }
  return base::StrCat(", unread=[", names, "]");
}

TEST_F(UnreadFieldsTest, DoesWhatTheGoldenFileSays) {
  EXPECT_THAT(
      base::CheckGolden(
          base::SourcePath("millrace/adapters/arrow/testdata/unread_fields.golden"),
          [](const base::GoldenCase& the_case) {
            return rewrite::RewriteText(the_case.before, "prune_columns",
                                        LibraryWithArrow().catalog());
          }),
      base::IsOk());
}

TEST_F(UnreadFieldsTest, RowsHaveTheOtherFieldsAndTheirIdentities) {
  for (const std::string name : {"types.parquet", "types.arrow"}) {
    const absl::StatusOr<core::Block> all = ReadCall(CallFor(Sample(name)));
    const absl::StatusOr<core::Block> some =
        ReadCall(CallFor(Sample(name), AllBut(name, {"int64", "point.x"})));
    ASSERT_THAT(some, base::IsOk());
    EXPECT_THAT(some->names(), ElementsAre("int64", "point.x"));
    ASSERT_EQ(some->rows(), 300);
    EXPECT_TRUE(core::SameRows(*all->Find("int64"), *some->Find("int64")));
    EXPECT_TRUE(core::SameRows(*all->Find("point.x"), *some->Find("point.x")));
    for (int64_t row = 0; row < 300; ++row) EXPECT_EQ(all->IdAt(row), some->IdAt(row));
  }
}

TEST_F(UnreadFieldsTest, WhatCannotHaveNullsIsNotFetched) {
  const auto counted = [](std::string_view unread) {
    return ReadCounted(
        CallFor(Sample("types.parquet"),
                base::StrCat(", select=[\"int8\", \"uint64\", \"float64\", \"utf8\"]",
                             ", unread=[", unread, "]")));
  };
  const absl::StatusOr<BytesAndRows> all = counted("");
  ASSERT_THAT(all, base::IsOk());
  const absl::StatusOr<BytesAndRows> one = counted("\"uint64\", \"float64\", \"utf8\"");
  ASSERT_THAT(one, base::IsOk());
  EXPECT_THAT(one->rows.names(), ElementsAre("int8"));
  EXPECT_GT(one->bytes, 0);
  EXPECT_LT(one->bytes, all->bytes / 5);
  const absl::StatusOr<BytesAndRows> none =
      counted("\"int8\", \"uint64\", \"float64\", \"utf8\"");
  ASSERT_THAT(none, base::IsOk());
  EXPECT_EQ(none->bytes, 0);
  EXPECT_EQ(none->rows.rows(), 300);
}

TEST_F(UnreadFieldsTest, ANullThatNobodyReadsStillMakesItsRowWrong) {
  for (const std::string name : {"nulls.parquet", "nulls.arrow"}) {
    const std::string call = CallFor(Sample(name), AllBut(name, {"id"}));
    EXPECT_THAT(ReadCall(call),
                StatusIs(kDataLoss, HasSubstr("field int of row 3 is null")));
    ops::LeavesOut left_out;
    const absl::StatusOr<core::Block> rows = ReadCall(call, left_out);
    ASSERT_THAT(rows, base::IsOk());
    EXPECT_EQ(rows->rows(), 34) << name;
    EXPECT_THAT(left_out.reasons, SizeIs(6));
    EXPECT_THAT(rows->names(), ElementsAre("id"));
  }
}

TEST_F(UnreadFieldsTest, NullsOfEveryKindAreSeenWhereNobodyReadsThem) {
  for (const std::string field : {"float", "bool", "text", "list", "pair", "element",
                                  "struct.x", "inside.x", "word"}) {
    const std::string more =
        base::StrCat(", select=[\"id\", \"", field, "\"], unread=[\"", field, "\"]");
    EXPECT_THAT(ReadCall(CallFor(Sample("nulls.parquet"), more)),
                StatusIs(kDataLoss, HasSubstr(base::StrCat("field ", field,
                                                           " of row 3 is null"))));
  }
}

TEST_F(UnreadFieldsTest, NullsThatAreReadAsDefaultsAreNotLookedFor) {
  const std::string path = Sample("nulls.parquet");
  const absl::StatusOr<BytesAndRows> all =
      ReadCounted(CallFor(path, ", missing=\"default\""));
  const absl::StatusOr<BytesAndRows> one = ReadCounted(CallFor(
      path, base::StrCat(AllBut("nulls.parquet", {"id"}), ", missing=\"default\"")));
  ASSERT_THAT(one, base::IsOk());
  EXPECT_EQ(one->rows.rows(), 40);
  EXPECT_LT(one->bytes, all->bytes);
}

TEST_F(UnreadFieldsTest, AFieldThatIsNotThereIsNamed) {
  EXPECT_THAT(ParseCall(CallFor(Sample("types.parquet"), ", unread=[\"no\"]")),
              StatusIs(kInvalidArgument, HasSubstr("a field that is not there: no")));
}

absl::StatusOr<core::Block> RunAll(const rewrite::Rewritten& pipeline) {
  exec::SequentialRunner runner = TRY(
      exec::SequentialRunner::Open(pipeline, LibraryWithArrow(), {.with_ids = true}));
  std::vector<core::Block> blocks;
  while (std::optional<core::Block> block = TRY(runner.Next())) {
    blocks.push_back(*std::move(block));
  }
  return core::Concatenate(blocks, core::HeapPool());
}

// Rows, their order, their identities and what is drawn for them.
TEST_F(UnreadFieldsTest, APipelineGivesTheSameAsItWasWrittenAndRewritten) {
  const ir::Catalog& catalog = LibraryWithArrow().catalog();
  for (const std::string name : {"types.parquet", "pages.parquet", "zstd.arrow"}) {
    const std::string text = base::StrCat(
        "%0 = ", CallFor(Sample(name)), "\n%1 = shuffle(%0, window=50)\n",
        "%2 = map(%1, function={x: .int64, u: uniform(0.0, 1.0), p: .int32})\n");
    const ir::Pipeline pipeline = *ir::Parse(text, {}, catalog);
    const rewrite::Rewritten rewritten = *rewrite::Rewrite(pipeline, catalog);
    EXPECT_NE(ir::Print(rewritten.after).text.find("unread=[\"bool\""),
              std::string::npos);
    const auto written = RunAll(rewrite::Unchanged(pipeline));
    const auto run = RunAll(rewritten);
    ASSERT_THAT(run, base::IsOk());
    EXPECT_TRUE(core::SameRows(*written, *run)) << name;
    for (int64_t row = 0; row < 300; ++row)
      EXPECT_EQ(written->IdAt(row), run->IdAt(row));
  }
}

}  // namespace
}  // namespace millrace::arrow
