#include "millrace/core/block.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/plain_rows_test.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"

namespace millrace::core {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

Column Ints(const std::vector<int32_t>& values) {
  return Column::Dense(DType::kInt32, std::ssize(values), {}, BufferOf(values));
}

RowId IdNumber(uint64_t number) { return base::Combine(RowId{}, number); }

// The identities IdNumber(first), IdNumber(first + 1), ...
Column Ids(int64_t rows, uint64_t first = 0) {
  std::vector<RowId> ids;
  ids.reserve(rows);
  for (int64_t i = 0; i < rows; ++i) ids.push_back(IdNumber(first + i));
  return IdColumn(ids, HeapPool()).value();
}

// Rows 0, 1, ... with a number, a text and a ragged list, and their identities.
Block SampleBlock(int64_t rows) {
  std::vector<int32_t> numbers;
  Tensors texts;
  std::vector<int32_t> items;
  std::vector<int64_t> offsets = {0};
  for (int64_t i = 0; i < rows; ++i) {
    numbers.push_back(static_cast<int32_t>(i));
    texts.push_back(Tensor::Text(std::string(i % 3, 'x')));
    items.resize(items.size() + i % 4, static_cast<int32_t>(i));
    offsets.push_back(std::ssize(items));
  }
  return Block(rows, {"number", "text", "items"},
               {Ints(numbers),
                FromRows(DType::kString, std::move(texts), HeapPool()).value(),
                Ints(items).Nest(rows, {Level::Variable(BufferOf(offsets))})})
      .WithIds(Ids(rows));
}

// Row by row, what a block holds: its fields, then its identity.
PlainRows ReadBlock(const Block& block) {
  PlainRows rows;
  for (int64_t row = 0; row < block.rows(); ++row) {
    std::vector<Plain> fields;
    for (const Column& column : block.columns()) {
      fields.push_back(ReadValue(column, 0, row));
    }
    if (block.has_ids()) fields.push_back(Plain::Leaf(base::ToHex(block.IdAt(row))));
    rows.push_back(Plain::List(std::move(fields)));
  }
  return rows;
}

PlainRows Picked(const PlainRows& rows, const std::vector<int64_t>& picks) {
  PlainRows picked;
  for (const int64_t pick : picks) picked.push_back(rows[pick]);
  return picked;
}

TEST(BlockTest, TheDefaultHasNoRowsAndNoFields) {
  const Block block;
  EXPECT_EQ(block.rows(), 0);
  EXPECT_TRUE(block.names().empty());
  EXPECT_FALSE(block.has_ids());
  EXPECT_EQ(block.ToString(), "");
}

TEST(BlockTest, FindsColumnsByName) {
  const Block block = SampleBlock(3);
  ASSERT_NE(block.Find("number"), nullptr);
  EXPECT_THAT(block.Find("number")->As<int32_t>(), ElementsAre(0, 1, 2));
  EXPECT_EQ(block.Find("none"), nullptr);
  EXPECT_THAT(block.names(), ElementsAre("number", "text", "items"));
}

TEST(BlockTest, MayHaveRowsWithoutFields) {
  const Block block(5, FieldNames{}, {});
  EXPECT_EQ(block.rows(), 5);
  EXPECT_EQ(block.Slice(1, 3).rows(), 3);
  EXPECT_EQ(block.Stack(5).rows(), 1);
  EXPECT_EQ(Gather(block, {0, 4}, HeapPool()).value().rows(), 2);
  EXPECT_EQ(Concatenate({block, block}, HeapPool()).value().rows(), 10);
}

TEST(BlockTest, ColumnsThatDoNotFitAreProgrammingErrors) {
  EXPECT_DEATH(Block(2, FieldNames{"a"}, {}), "size");
  EXPECT_DEATH(Block(2, FieldNames{"a"}, {Ints({1})}), "rows");
  EXPECT_DEATH(Block(-1, FieldNames{}, {}), "rows");
  EXPECT_DEATH((void)SampleBlock(2).WithIds(Ids(3)), "rows");
  EXPECT_DEATH((void)SampleBlock(1).WithIds(Ints({1})), "dtype");
  const Column words =
      Column::Dense(DType::kUint64, 1, {3}, BufferOf<uint64_t>({1, 2, 3}));
  EXPECT_DEATH((void)SampleBlock(1).WithIds(words), "2");
  EXPECT_DEATH((void)SampleBlock(3).Slice(2, 2), "rows");
  EXPECT_DEATH((void)SampleBlock(3).Slice(-1, 1), "begin");
  EXPECT_DEATH((void)Block(3, FieldNames{}, {}).Slice(2, 2), "rows");
  EXPECT_DEATH((void)SampleBlock(3).Stack(2), "size");
  EXPECT_DEATH((void)SampleBlock(3).IdAt(3), "row");
  EXPECT_DEATH((void)SampleBlock(3).IdAt(-1), "row");
  EXPECT_DEATH((void)Block().IdAt(0), "has_ids");
}

TEST(BlockTest, ASliceHasTheRowsAndIdentitiesOfItsRange) {
  const Block block = SampleBlock(9);
  const PlainRows rows = ReadBlock(block);
  const Block part = block.Slice(2, 5);
  EXPECT_EQ(ReadBlock(part), PlainRows(rows.begin() + 2, rows.begin() + 7));
  EXPECT_EQ(part.shared_names(), block.shared_names());
  EXPECT_EQ(part.Find("number")->values().data(),
            block.Find("number")->values().data() + 8);
}

TEST(BlockTest, CountsTheBytesOfItsFields) {
  const Block block =
      SampleBlock(4);  // Texts of 0 + 1 + 2 + 0, items of 0 + 1 + 2 + 3.
  EXPECT_EQ(block.content_bytes(), 4 * 4 + 3 + 6 * 4);
  EXPECT_EQ(block.Slice(2, 1).content_bytes(), 4 + 2 + 2 * 4);
}

TEST(BlockTest, CarriesIdentitiesAsTwoWords) {
  const std::vector<RowId> ids = {{1, 2}, {UINT64_MAX, 0}};
  const Column column = IdColumn(ids, HeapPool()).value();
  EXPECT_THAT(column.As<uint64_t>(), ElementsAre(1, 2, UINT64_MAX, 0));
  const Block block = Block(2, FieldNames{"x"}, {Ints({1, 2})}).WithIds(column);
  EXPECT_EQ(block.IdAt(0), ids[0]);
  EXPECT_EQ(block.IdAt(1), ids[1]);
  EXPECT_EQ(IdColumn({}, HeapPool()).value().rows(), 0);
}

TEST(BlockTest, ABatchIsNamedByItsFirstRowAndItsCount) {
  const Block batches = SampleBlock(6).Stack(3);
  EXPECT_EQ(batches.IdAt(0), base::Combine(IdNumber(0), uint64_t{3}));
  EXPECT_EQ(batches.IdAt(1), base::Combine(IdNumber(3), uint64_t{3}));
  EXPECT_NE(batches.IdAt(0), SampleBlock(6).Stack(2).IdAt(0));
}

TEST(BlockTest, ABatchOfBatchesIsNamedByItsFirstBatch) {
  const Block batches = SampleBlock(12).Stack(3);
  const Block twice = batches.Stack(2);
  EXPECT_EQ(twice.IdAt(0), base::Combine(batches.IdAt(0), uint64_t{2}));
  EXPECT_EQ(batches.IdsIn(1),
            (std::vector<RowId>{IdNumber(3), IdNumber(4), IdNumber(5)}));
  EXPECT_EQ(twice.IdsIn(0).size(), 6);
  EXPECT_EQ(twice.IdsIn(0)[5], IdNumber(5));
  EXPECT_EQ(twice.IdAt(1), base::Combine(batches.IdAt(2), uint64_t{2}));
}

TEST(BlockTest, AnEmptyBatchHasAnIdentityToo) {
  const Column empty = Ids(0).Nest(1, {Level::Variable(BufferOf<int64_t>({0, 0}))});
  const Block block = Block(1, FieldNames{}, {}).WithIds(empty);
  EXPECT_EQ(block.IdAt(0), base::Combine(RowId{}, uint64_t{0}));
}

TEST(BlockTest, UnstackingFindsRowsAndIdentitiesAgain) {
  const Block block = SampleBlock(12);
  for (const int64_t size : {1, 2, 3, 4, 6, 12}) {
    const absl::StatusOr<Block> again = block.Stack(size).Unstack();
    ASSERT_THAT(again, IsOk());
    EXPECT_TRUE(SameRows(*again, block));
    EXPECT_EQ(ReadBlock(*again), ReadBlock(block));
  }
  const Block twice = block.Stack(2).Stack(3).Unstack().value().Unstack().value();
  EXPECT_EQ(ReadBlock(twice), ReadBlock(block));
}

TEST(BlockTest, BatchesMayBeSlicedGatheredAndJoinedBeforeTheyAreUnstacked) {
  const Block block = SampleBlock(12);
  const PlainRows rows = ReadBlock(block);
  const Block batches = block.Stack(3);
  EXPECT_EQ(ReadBlock(batches.Slice(1, 2).Unstack().value()),
            PlainRows(rows.begin() + 3, rows.begin() + 9));
  const Block swapped = Gather(batches, {3, 0}, HeapPool()).value();
  EXPECT_EQ(swapped.IdAt(0), batches.IdAt(3));
  EXPECT_EQ(ReadBlock(swapped.Unstack().value()), Picked(rows, {9, 10, 11, 0, 1, 2}));
  // Batches of different sizes, as at the end of a pass.
  const Block tail = block.Slice(0, 2).Stack(2);
  const Block joined = Concatenate({batches.Slice(0, 1), tail}, HeapPool()).value();
  EXPECT_EQ(joined.IdAt(0), batches.IdAt(0));
  EXPECT_EQ(joined.IdAt(1), base::Combine(IdNumber(0), uint64_t{2}));
  EXPECT_EQ(ReadBlock(joined.Unstack().value()), Picked(rows, {0, 1, 2, 0, 1}));
}

TEST(BlockTest, FieldsWithoutALeadingAxisCannotBeUnstacked) {
  const Block block(2, FieldNames{"a", "b"},
                    {Ints({1, 2, 3, 4}).Stack(2), Ints({1, 2})});
  EXPECT_THAT(block.Unstack(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "rows cannot be unstacked: no leading axis in field b"));
  EXPECT_THAT(SampleBlock(2).Unstack(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no batches")));
  EXPECT_THAT(Block(2, FieldNames{}, {}).Unstack(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no fields")));
}

// The same number of values in all, but not row by row: the rows would be mixed up.
TEST(BlockTest, FieldsOfDifferentLeadingSizesCannotBeUnstacked) {
  const auto lists = [](const std::vector<int64_t>& offsets) {
    return Ints({1, 2, 3}).Nest(2, {Level::Variable(BufferOf(offsets))});
  };
  EXPECT_THAT(
      Block(2, FieldNames{"a", "b"}, {lists({0, 1, 3}), lists({0, 2, 3})}).Unstack(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "rows cannot be unstacked: another leading size in field b"));
  EXPECT_THAT(
      Block(2, FieldNames{"a", "b"}, {lists({0, 1, 3}), lists({0, 1, 3})}).Unstack(),
      IsOk());
}

TEST(BlockTest, TensorsAreUnstackedBesideOtherFields) {
  const Column tensors =
      Column::OfTensors(DType::kInt32, {Tensor::FromValues<int32_t>({1, 2}, {2, 1}),
                                        Tensor::FromValues<int32_t>({3, 4}, {1, 2})});
  const Column numbers =
      Ints({7, 8, 9}).Nest(2, {Level::Variable(BufferOf<int64_t>({0, 2, 3}))});
  const Block unstacked =
      Block(2, FieldNames{"t", "n"}, {tensors, numbers}).Unstack().value();
  EXPECT_EQ(unstacked.rows(), 3);
  EXPECT_EQ(unstacked.columns()[0].Row(2).value(),
            Tensor::FromValues<int32_t>({3, 4}, {2}));
}

TEST(BlockTest, GatheringTakesFieldsAndIdentitiesTogether) {
  const Block block = SampleBlock(8);
  const PlainRows rows = ReadBlock(block);
  const Block gathered = Gather(block, {7, 0, 3, 3, 4}, HeapPool()).value();
  EXPECT_EQ(ReadBlock(gathered), Picked(rows, {7, 0, 3, 3, 4}));
  const std::vector<RowRef> refs = {{1, 0}, {0, 2}, {1, 3}};
  const Block mixed =
      Gather({block.Slice(0, 4), block.Slice(4, 4)}, refs, HeapPool()).value();
  EXPECT_EQ(ReadBlock(mixed), Picked(rows, {4, 2, 7}));
}

TEST(BlockTest, ConcatenatingPiecesGivesTheWhole) {
  const Block block = SampleBlock(20);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    std::vector<Block> pieces;
    for (int64_t begin = 0; begin < 20;) {
      const int64_t rows = random.Below(std::min<int64_t>(20 - begin, 6) + 1);
      pieces.push_back(block.Slice(begin, rows));
      begin += rows;
    }
    const Block whole = Concatenate(pieces, HeapPool()).value();
    EXPECT_TRUE(SameRows(whole, block));
    EXPECT_EQ(ReadBlock(whole), ReadBlock(block));
  }
}

TEST(BlockTest, OneBlockIsJoinedWithoutACopy) {
  const Block block = SampleBlock(3);
  EXPECT_EQ(Concatenate({block}, HeapPool()).value().columns()[0].values().data(),
            block.columns()[0].values().data());
}

TEST(BlockTest, BlocksOfDifferentFieldsCannotBeJoined) {
  const Block a(1, FieldNames{"a"}, {Ints({1})});
  const Block b(1, FieldNames{"b"}, {Ints({1})});
  const std::string message = "blocks of different fields cannot be joined: a and b";
  EXPECT_THAT(Concatenate({a, b}, HeapPool()),
              StatusIs(absl::StatusCode::kInvalidArgument, message));
  EXPECT_THAT(Gather({a, b}, {{0, 0}}, HeapPool()),
              StatusIs(absl::StatusCode::kInvalidArgument, message));
}

TEST(BlockTest, ErrorsNameTheField) {
  const Block a(1, FieldNames{"x", "y"}, {Ints({1}), Ints({1})});
  const Column text = FromRows(DType::kString, {Tensor::Text("t")}, HeapPool()).value();
  const Block b(1, FieldNames{"x", "y"}, {Ints({1}), text});
  EXPECT_THAT(
      Concatenate({a, b}, HeapPool()),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "field y: rows of different types cannot be joined: int32 and string"));
  EXPECT_THAT(SampleBlock(3).ToUniform(HeapPool()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "field items: rows have different shapes: [0] and [1]"));
}

TEST(BlockTest, ToUniformMakesEveryFieldStackable) {
  const Tensor one = Tensor::FromValues<int32_t>({5}, {1});
  const Block block =
      Block(2, FieldNames{"n", "t"},
            {Ints({1, 2}), Column::OfTensors(DType::kInt32, {one, one})})
          .WithIds(Ids(2));
  const Block uniform = block.ToUniform(HeapPool()).value();
  EXPECT_TRUE(SameRows(uniform, block));
  const Block batch = uniform.Stack(2);
  EXPECT_EQ(batch.columns()[1].Row(0).value().shape(), (Shape{2, 1}));
}

TEST(BlockTest, BudgetsThatRunOutAreErrors) {
  Pool pool(MakeHeapAllocator(), {.budget_bytes = 128});
  const Block block = SampleBlock(50);
  EXPECT_THAT(Concatenate({block, block}, pool),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("field ")));
  EXPECT_THAT(IdColumn(std::vector<RowId>(100), pool),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(pool.stats().used_bytes, 0);
}

TEST(BlockTest, SameRowsComparesFieldsAndIdentities) {
  const Block block = SampleBlock(3);
  EXPECT_TRUE(SameRows(block, SampleBlock(3)));
  EXPECT_FALSE(SameRows(block, SampleBlock(4)));
  EXPECT_FALSE(SameRows(block, block.WithIds(Ids(3, 1))));
  const Block plain(3, block.names(), block.columns());
  EXPECT_FALSE(SameRows(block, plain));
  EXPECT_TRUE(SameRows(plain, Block(3, block.shared_names(), block.columns())));
  EXPECT_FALSE(SameRows(plain, Block(3, FieldNames{"a", "b", "c"}, block.columns())));
  EXPECT_FALSE(SameRows(Block(1, FieldNames{"x"}, {Ints({1})}),
                        Block(1, FieldNames{"x"}, {Ints({2})})));
}

TEST(BlockTest, PrintsTheFirstRows) {
  EXPECT_EQ(SampleBlock(2).ToString(),
            "{number: int32 0, text: string \"\", items: int32[0] []}\n"
            "{number: int32 1, text: string \"x\", items: int32[1] [1]}");
  EXPECT_THAT(SampleBlock(20).ToString(3), HasSubstr("\n... 17 more rows"));
}

TEST(BlockTest, PrintsTheFirstListsOfLists) {
  EXPECT_THAT(SampleBlock(4).Stack(4).ToString(),
              HasSubstr("items: int32[4, ?] [[], [1], [2, 2], [3, 3, 3]]"));
  EXPECT_THAT(SampleBlock(20).Stack(20).ToString(), HasSubstr(", ...]}"));
  EXPECT_THAT(SampleBlock(4).Stack(2).Stack(2).ToString(),
              HasSubstr("items: int32[2, ?, ?] [[[], [1]], [[2, 2], [3, 3, 3]]]"));
}

TEST(BlockTest, ASpecAdmitsTheBlocksItDescribes) {
  const Spec spec({{.name = "number", .dtype = DType::kInt32, .shape = {}},
                   {.name = "text", .dtype = DType::kString, .shape = {}},
                   {.name = "items", .dtype = DType::kInt32, .shape = {kUnknownSize}}});
  const Block block = SampleBlock(6);
  EXPECT_THAT(CheckAdmits(spec, block), IsOk());
  EXPECT_THAT(CheckAdmits(spec.Stacked(3), block.Stack(3)), IsOk());
  EXPECT_THAT(CheckAdmits(spec.Stacked(2), block.Stack(3)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "field number should be int32[2] but is int32[3]"));
}

TEST(BlockTest, ASpecRefusesOtherFields) {
  const Spec spec({{.name = "a", .dtype = DType::kInt32, .shape = {}}});
  EXPECT_THAT(
      CheckAdmits(spec, Block(1, FieldNames{"b"}, {Ints({1})})),
      StatusIs(absl::StatusCode::kInvalidArgument, "field 0 should be a but is b"));
  EXPECT_THAT(CheckAdmits(spec, Block(1, FieldNames{}, {})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "rows should have the fields a but have "));
}

}  // namespace
}  // namespace millrace::core
