#include "millrace/adapters/arrow/columnar_source.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/arrow/module.h"
#include "millrace/adapters/arrow/sample_files_test.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/source.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::arrow {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using absl::StatusCode::kUnavailable;
using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::string>& AllTypes() {
  static const auto& names = *new std::vector<std::string>(
      {"types.parquet", "pages.parquet", "types.arrow", "types.arrows", "zstd.arrow"});
  return names;
}

class ColumnarSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status module = OpenModule().status();
    if (!module.ok()) GTEST_SKIP() << module;
  }

  core::Block Read(std::string_view call, ops::BadRows& bad_rows = ops::NoBadRows()) {
    absl::StatusOr<core::Block> rows = ReadCall(call, bad_rows);
    EXPECT_THAT(rows, base::IsOk()) << call;
    return rows.ok() ? *rows : core::Block();
  }
};

std::string ShownAt(const core::Block& block, std::string_view field, int64_t row) {
  return block.Find(field)->Row(row)->ToString();
}

TEST_F(ColumnarSourceTest, ReadKnowsTheEndingsOfNames) {
  for (const std::string& name : AllTypes()) {
    const std::string read = base::StrCat("read(paths=[\"", Sample(name), "\"]");
    const std::string_view only = ", fields=\"{int32: int32, utf8: string}\")";
    const core::Block rows = Read(base::StrCat(read, only));
    EXPECT_EQ(rows.rows(), 300) << name;
    EXPECT_EQ(rows.names().size(), 2U);
    EXPECT_THAT(ReadCall(base::StrCat(read, ", columns=[\"a\"])")),
                StatusIs(kInvalidArgument, HasSubstr("takes no columns")));
    const auto written = ParseCall(base::StrCat(read, ")"));
    ASSERT_THAT(written, base::IsOk());
    EXPECT_THAT(written->arguments()["fields"].As<std::string>(),
                HasSubstr("int32: int32"));
  }
}

TEST_F(ColumnarSourceTest, EveryTypeIsReadFromEveryFormat) {
  for (const std::string& name : AllTypes()) {
    const core::Block rows = Read(CallFor(Sample(name)));
    ASSERT_EQ(rows.rows(), 300) << name;
    for (const int64_t i : {0, 5, 89, 90, 299}) {
      EXPECT_EQ(rows.Find("bool")->As<bool>()[i], i % 3 == 0) << name;
      EXPECT_EQ(rows.Find("int8")->As<int8_t>()[i], i % 100);
      EXPECT_EQ(rows.Find("uint16")->As<uint16_t>()[i], i);
      EXPECT_EQ(rows.Find("int64")->As<int64_t>()[i], i);
      EXPECT_EQ(rows.Find("uint64")->As<uint64_t>()[i], (uint64_t{1} << 63) + i);
      EXPECT_EQ(rows.Find("float32")->As<float>()[i], static_cast<float>(i) / 4);
      EXPECT_EQ(rows.Find("float64")->As<double>()[i], static_cast<double>(i) / 8);
      EXPECT_EQ(rows.Find("dictionary")->TextAt(i), base::StrCat("word ", i % 7));
      EXPECT_EQ(rows.Find("date32")->As<int64_t>()[i], i);
      EXPECT_EQ(rows.Find("time32")->As<int64_t>()[i], i);
      EXPECT_EQ(rows.Find("timestamp")->As<int64_t>()[i], 1000 * i);  // Of us.
      EXPECT_EQ(rows.Find("duration")->As<int64_t>()[i], i);
      EXPECT_EQ(rows.Find("point.name.short")->TextAt(i), base::StrCat("p", i));
      EXPECT_THAT(rows.Find("fixed_list")->Row(i)->As<int16_t>(),
                  ElementsAre(i, i + 1));
      EXPECT_THAT(rows.Find("list")->Row(i)->As<int32_t>(),
                  testing::ElementsAreArray(std::vector<int32_t>(i % 4, i)));
      EXPECT_EQ(rows.Find("pairs.text")->Row(i)->shape()[0], i % 3);
    }
    EXPECT_EQ(ShownAt(rows, "float16", 7), "float16 7.0");
    EXPECT_EQ(rows.Find("utf8")->TextAt(6), "text 6text 6");
    EXPECT_EQ(rows.Find("large_binary")->TextAt(3), "text 3text 3text 3");
    EXPECT_EQ(rows.Find("fixed_binary")->TextAt(42), "0042");
    EXPECT_EQ(ShownAt(rows, "words", 5), "string[2] [\"w0\", \"w1\"]");
  }
}

TEST_F(ColumnarSourceTest, AllFormatsGiveTheSameRows) {
  const core::Block first = Read(CallFor(Sample(AllTypes()[0])));
  for (const std::string& name : AllTypes()) {
    const core::Block rows = Read(CallFor(Sample(name)));
    for (const std::string& field : first.names()) {
      EXPECT_TRUE(core::SameRows(*first.Find(field), *rows.Find(field)))
          << field << " of " << name;
    }
  }
}

TEST_F(ColumnarSourceTest, GivesTheRowsThatItsSpecPromises) {
  for (const std::string& name : AllTypes()) {
    const ir::Pipeline node = *ParseCall(CallFor(Sample(name)));
    const core::Block rows = Read(CallFor(Sample(name)));
    EXPECT_THAT(core::CheckAdmits(node.spec(), rows), base::IsOk()) << name;
    std::set<core::RowId> ids;
    for (int64_t row = 0; row < rows.rows(); ++row) ids.insert(rows.IdAt(row));
    EXPECT_EQ(ids.size(), 300U);
  }
}

TEST_F(ColumnarSourceTest, GivesTheSameRowsHoweverTheyAreAskedFor) {
  for (const std::string& name : AllTypes()) {
    const core::Block whole = Read(CallFor(Sample(name)));
    const auto source = *MakeSource(CallFor(Sample(name)));
    ASSERT_THAT(source->List(), base::IsOk());
    for (const int64_t step : {1, 37, 125}) {
      std::vector<core::Block> parts;
      for (int64_t at = 0; at < 300; at += step) {
        const auto part =
            ops::ReadAll(*source, {0, at, std::min<int64_t>(at + step, 300)});
        ASSERT_THAT(part, base::IsOk());
        for (const core::Block& block : *part) parts.push_back(block);
      }
      EXPECT_TRUE(core::SameRows(whole, *core::Concatenate(parts, core::HeapPool())))
          << name << " by " << step;
    }
    for (const int64_t at : {200, 50, 299, 0}) {  // Backwards too.
      const auto part = ops::ReadAll(*source, {0, at, at + 1});
      ASSERT_THAT(part, base::IsOk());
      EXPECT_TRUE(core::SameRows(whole.Slice(at, 1), part->front())) << name;
    }
  }
}

TEST_F(ColumnarSourceTest, ThreadsShareWhatIsDecoded) {
  const core::Block whole = Read(CallFor(Sample("pages.parquet")));
  const auto source = *MakeSource(CallFor(Sample("pages.parquet")));
  ASSERT_THAT(source->List(), base::IsOk());
  std::vector<core::Block> parts(10);
  {
    std::vector<std::jthread> threads;
    for (int64_t i = 0; i < 10; ++i) {
      threads.emplace_back([&, i] {
        parts[i] = ops::ReadAll(*source, {0, 30 * i, 30 * i + 30})->front();
      });
    }
  }
  EXPECT_TRUE(core::SameRows(whole, *core::Concatenate(parts, core::HeapPool())));
}

TEST_F(ColumnarSourceTest, DecodedRowsAreInThePoolAndGoBackToIt) {
  core::Pool pool(core::MakeHeapAllocator(), {});
  {
    const auto source = *MakeSource(
        CallFor(Sample("pages.parquet"), ", select=[\"int64\", \"large_list\"]"),
        {.pool = pool, .with_ids = false});
    const absl::StatusOr<core::Block> rows = ReadSource(*source);
    ASSERT_THAT(rows, base::IsOk());
  }
  EXPECT_GT(pool.stats().peak_bytes, 300 * 8);
  EXPECT_EQ(pool.stats().used_bytes, 0);
}

TEST_F(ColumnarSourceTest, FilesAreCountedAndSeekable) {
  const auto source = *MakeSource(CallFor(Sample("types.parquet")));
  const lanes::Manifest manifest = *source->List();
  ASSERT_EQ(manifest.splits.size(), 1U);
  EXPECT_EQ(manifest.splits[0].rows, 300);
  EXPECT_EQ(manifest.splits[0].grain, 90);  // A row group.
  EXPECT_TRUE(lanes::AllSeekable(manifest));
  for (const std::string name : {"empty.parquet", "empty.arrow"}) {
    const auto empty = *MakeSource(CallFor(Sample(name)));
    EXPECT_EQ(empty->List()->total_rows(), 0) << name;
    EXPECT_EQ(Read(CallFor(Sample(name))).rows(), 0);
  }
}

TEST_F(ColumnarSourceTest, ARowWithANullIsWrongAndCanBeLeftOut) {
  for (const std::string name : {"nulls.parquet", "nulls.arrow"}) {
    EXPECT_THAT(
        ReadCall(CallFor(Sample(name))),
        StatusIs(kDataLoss, AllOf(HasSubstr("field int of row 3 is null"),
                                  HasSubstr("missing=\"default\""), HasSubstr(name))));
    ops::LeavesOut left_out;
    const core::Block rows = Read(CallFor(Sample(name)), left_out);
    EXPECT_EQ(rows.rows(), 34) << name;
    EXPECT_EQ(left_out.reasons.size(), 6U);
    EXPECT_THAT(left_out.reasons[5], HasSubstr("row 38"));
    const auto ids = rows.Find("id")->As<int64_t>();
    EXPECT_TRUE(std::ranges::none_of(ids, [](int64_t id) { return id % 7 == 3; }));
  }
}

TEST_F(ColumnarSourceTest, NullsOfEveryKindAreSeenByThemselves) {
  for (const std::string field : {"float", "bool", "text", "list", "pair", "element",
                                  "struct.x", "inside.x", "word"}) {
    for (const std::string name : {"nulls.parquet", "nulls.arrow"}) {
      const std::string call =
          CallFor(Sample(name), base::StrCat(", select=[\"", field, "\"]"));
      EXPECT_THAT(ReadCall(call),
                  StatusIs(kDataLoss, HasSubstr(base::StrCat("field ", field,
                                                             " of row 3 is null"))));
    }
  }
  EXPECT_EQ(Read(CallFor(Sample("nulls.arrow"), ", select=[\"id\"]")).rows(), 40);
}

TEST_F(ColumnarSourceTest, NullsCanBeReadAsDefaults) {
  for (const std::string name : {"nulls.parquet", "nulls.arrow"}) {
    const core::Block rows = Read(CallFor(Sample(name), ", missing=\"default\""));
    ASSERT_EQ(rows.rows(), 40);
    for (const int64_t row : {3, 38}) {
      EXPECT_EQ(rows.Find("int")->As<int32_t>()[row], 0) << name;
      EXPECT_TRUE(std::isnan(rows.Find("float")->As<float>()[row]));
      EXPECT_FALSE(rows.Find("bool")->As<bool>()[row]);
      EXPECT_EQ(rows.Find("text")->TextAt(row), "");
      EXPECT_EQ(rows.Find("word")->TextAt(row), "");
      EXPECT_THAT(rows.Find("list")->Row(row)->As<int32_t>(), IsEmpty());
      EXPECT_THAT(rows.Find("pair")->Row(row)->As<int32_t>(), ElementsAre(0, 0));
      EXPECT_THAT(rows.Find("element")->Row(row)->As<int64_t>(), ElementsAre(row, 0));
      EXPECT_EQ(rows.Find("struct.x")->As<int32_t>()[row], 0);
      EXPECT_EQ(rows.Find("inside.x")->As<int32_t>()[row], 0);
    }
    EXPECT_EQ(rows.Find("int")->As<int32_t>()[39], 39);
  }
}

TEST_F(ColumnarSourceTest, ColumnsAreSelectedByNameOrStruct) {
  const auto node =
      ParseCall(CallFor(Sample("types.parquet"), ", select=[\"point\", \"int8\"]"));
  ASSERT_THAT(node, base::IsOk());
  EXPECT_EQ(node->spec().ToString(),
            "{int8: int8, point.x: int64, point.name.short: string}");
  EXPECT_THAT(
      ParseCall(CallFor(Sample("types.parquet"), ", select=[\"poi\"]")),
      StatusIs(kInvalidArgument, AllOf(HasSubstr("a column that is not there: poi"),
                                       HasSubstr("point.x"))));
}

// The text form says the fields: whoever has it needs no file to know them.
TEST_F(ColumnarSourceTest, FieldsThatAreGivenAreNotLookedUp) {
  const auto node = ParseCall(CallFor("gone.parquet", ", fields=\"{x: int64[?]}\""));
  ASSERT_THAT(node, base::IsOk());
  EXPECT_EQ(node->spec().ToString(), "{x: int64[?]}");
  const core::Block rows = Read(
      CallFor(Sample("types.arrow"), ", fields=\"{words: string[?], int8: int8}\""));
  EXPECT_THAT(rows.names(), ElementsAre("words", "int8"));
}

TEST_F(ColumnarSourceTest, WhatIsWrongWithArgumentsIsSaid) {
  const std::string path = Sample("types.parquet");
  EXPECT_THAT(
      ParseCall(CallFor(path, ", missing=\"zero\"")),
      StatusIs(kInvalidArgument, HasSubstr("must be \"error\" or \"default\"")));
  EXPECT_THAT(ParseCall(CallFor(path, ", fields=\"{x: int65}\"")),
              StatusIs(kInvalidArgument, HasSubstr("argument fields")));
  EXPECT_THAT(ParseCall(CallFor(path, ", fields=\"{}\"")), StatusIs(kInvalidArgument));
  EXPECT_THAT(ParseCall(CallFor("none-*.parquet")), StatusIs(kNotFound));
  EXPECT_THAT(ParseCall("read_parquet(paths=[])"), StatusIs(kInvalidArgument));
  EXPECT_THAT(ParseCall(CallFor(Sample("decimal.parquet"))),
              StatusIs(kInvalidArgument,
                       AllOf(HasSubstr("field price is a decimal"),
                             HasSubstr("leave it out with argument select"))));
  EXPECT_EQ(Read(CallFor(Sample("decimal.parquet"), ", select=[\"id\"]")).rows(), 3);
}

TEST_F(ColumnarSourceTest, AFileOfOtherTypesIsNamed) {
  const std::string both = base::StrCat(Sample("{decimal,other}.parquet"));
  EXPECT_THAT(ReadCall(CallFor(both, ", select=[\"id\"]")),
              StatusIs(kInvalidArgument,
                       AllOf(HasSubstr("{id: int64}, and there is {id: float64}"),
                             HasSubstr("other.parquet"))));
  EXPECT_THAT(ReadCall(CallFor(both, ", fields=\"{x: int64}\"")),
              StatusIs(kInvalidArgument, HasSubstr("there is no field x")));
}

// The store's errors come through as they are, at whichever call it fails.
TEST_F(ColumnarSourceTest, ADiskThatFailsIsTheError) {
  for (const std::string name : {"types.parquet", "types.arrow"}) {
    const std::string call = CallFor(Sample(name));
    storage::FailingStore store(storage::ProcessFiles());
    const auto read = [&](int64_t fail_at) {
      store.FailAt(fail_at);
      const auto source = *MakeSource(call, {.pool = core::HeapPool(), .blobs = store});
      return ReadSource(*source).status();
    };
    ASSERT_THAT(read(int64_t{1} << 40), base::IsOk());
    const int64_t calls = store.calls();
    EXPECT_GT(calls, 5);
    for (int64_t i = 0; i < calls; ++i) {
      EXPECT_THAT(read(i), StatusIs(kUnavailable, HasSubstr("the disk is gone")))
          << name << " at call " << i << " of " << calls;
    }
  }
}

// Whatever the bytes are: rows, or an error that names the file.
void CheckAnyBytes(const storage::TemporaryFolder& folder, std::string_view name,
                   const std::string& bytes) {
  const std::string path = folder.Write(name, bytes);
  const absl::StatusOr<core::Block> rows =
      ReadCall(CallFor(path, ", missing=\"default\""));
  if (rows.ok()) {
    EXPECT_LE(rows->rows(), 300);
    rows->ToString();
  } else {
    EXPECT_THAT(rows.status().message(), HasSubstr(path));
    EXPECT_TRUE(absl::IsDataLoss(rows.status()) ||
                absl::IsInvalidArgument(rows.status()) ||
                absl::IsResourceExhausted(rows.status()))
        << rows.status();
  }
}

TEST_F(ColumnarSourceTest, FilesThatAreCutOffAreErrors) {
  const storage::TemporaryFolder folder;
  for (const std::string name : {"types.parquet", "types.arrow", "nulls.parquet"}) {
    const std::string whole = storage::ReadFile(Sample(name));
    for (size_t size = 0; size < whole.size(); size += whole.size() / 23) {
      CheckAnyBytes(folder, name, whole.substr(0, size));
      EXPECT_FALSE(ReadCall(CallFor(folder / name)).ok()) << name << " of " << size;
    }
  }
}

TEST_F(ColumnarSourceTest, ChangedBytesAreErrorsOrOtherRows) {
  const storage::TemporaryFolder folder;
  for (const std::string name : {"nulls.parquet", "nulls.arrow", "types.arrows",
                                 "zstd.arrow", "pages.parquet"}) {
    const std::string whole = storage::ReadFile(Sample(name));
    for (uint64_t seed = 0; seed < 120; ++seed) {
      std::string changed = whole;
      const std::string noise = storage::Noise(12, seed);
      for (size_t i = 0; i < 3; ++i) {
        size_t place = 0;
        for (size_t j = 0; j < 3; ++j) {
          place = place * 256 + static_cast<uint8_t>(noise[4 * i + j]);
        }
        changed[place % changed.size()] = noise[4 * i + 3];
      }
      CheckAnyBytes(folder, name, changed);
    }
  }
}

TEST_F(ColumnarSourceTest, RowsThatCannotBeDecodedAreLeftOutByPiece) {
  const storage::TemporaryFolder folder;
  std::string bytes = storage::ReadFile(Sample("types.parquet"));
  for (size_t i = 100; i < 3000; ++i) bytes[i] = 'x';  // In the first row group.
  const std::string path = folder.Write("types.parquet", bytes);
  ops::LeavesOut left_out;
  const absl::StatusOr<core::Block> rows = ReadCall(CallFor(path), left_out);
  ASSERT_THAT(rows, base::IsOk());
  EXPECT_EQ(rows->rows(), 210);
  ASSERT_FALSE(left_out.reasons.empty());
  EXPECT_THAT(left_out.reasons[0], HasSubstr(path));
}

}  // namespace
}  // namespace millrace::arrow
