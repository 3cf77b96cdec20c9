#include "millrace/core/copy_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/plain_rows_test.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::core {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr int kSeeds = 400;

Column Ints(const std::vector<int32_t>& values) {
  return Column::Dense(DType::kInt32, std::ssize(values), {}, BufferOf(values));
}

Column Texts(const std::vector<std::string>& texts) {
  Tensors rows;
  for (const std::string& text : texts) rows.push_back(Tensor::Text(text));
  return FromRows(DType::kString, std::move(rows), HeapPool()).value();
}

// A row of each shape, counting up from 0.
Tensors TensorsOf(const std::vector<Shape>& shapes) {
  Tensors tensors;
  int32_t next = 0;
  for (const Shape& shape : shapes) {
    std::vector<int32_t> values(shape.Count());
    for (int32_t& value : values) value = next++;
    tensors.push_back(Tensor::FromValues<int32_t>(values, shape));
  }
  return tensors;
}

// Several samples of one type, and where each row of them is.
struct Sources {
  std::vector<Column> columns;
  std::vector<PlainRows> rows;

  std::vector<RowRef> Refs() const {
    std::vector<RowRef> refs;
    for (size_t source = 0; source < rows.size(); ++source) {
      for (size_t row = 0; row < rows[source].size(); ++row) {
        refs.push_back({static_cast<int32_t>(source), static_cast<int64_t>(row)});
      }
    }
    return refs;
  }

  PlainRows Pick(absl::Span<const RowRef> refs) const {
    PlainRows picked;
    for (const RowRef& ref : refs) picked.push_back(rows[ref.source][ref.row]);
    return picked;
  }

  void Add(const Sample& sample) {
    columns.push_back(sample.column);
    rows.push_back(sample.rows);
  }
};

// Up to four samples of one layout, or of any where `layout` is not given.
Sources AnySources(RandomSamples& random, std::optional<Layout> layout) {
  // Only these can have gaps.
  const bool texts = layout ? *layout == Layout::kGaps : random.Below(4) == 0;
  const DType dtype = texts ? DType::kString : random.AnyDType();
  const auto rank = texts ? 0 : static_cast<int>(random.Below(4));
  Sources sources;
  const int64_t count = 1 + random.Below(4);
  for (int64_t i = 0; i < count; ++i) {
    const Layout each =
        layout.value_or(kAllLayouts[random.Below(std::ssize(kAllLayouts))]);
    sources.Add(random.Sliced(each, dtype, rank, random.Below(6)));
  }
  return sources;
}

// Any rows of the sources, in runs and out of order, some several times.
std::vector<RowRef> AnyRefs(RandomSamples& random, const Sources& sources) {
  const std::vector<RowRef> all = sources.Refs();
  std::vector<RowRef> refs;
  if (all.empty()) return refs;
  while (random.Below(6) != 0) {
    const int64_t begin = random.Below(std::ssize(all));
    const int64_t end =
        begin + random.Below(std::min<int64_t>(4, std::ssize(all) - begin)) + 1;
    refs.insert(refs.end(), all.begin() + begin, all.begin() + end);
  }
  return refs;
}

TEST(CopyRowsTest, ConcatenatingJoinsRowsInOrder) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    const Sources sources =
        AnySources(random, kAllLayouts[seed % std::size(kAllLayouts)]);
    const absl::StatusOr<Column> joined = Concatenate(sources.columns, HeapPool());
    ASSERT_THAT(joined, IsOk());
    ASSERT_EQ(ReadRows(*joined), sources.Pick(sources.Refs()));
    EXPECT_EQ(joined->dtype(), sources.columns[0].dtype());
  }
}

TEST(CopyRowsTest, GatheringTakesRowsInTheOrderGiven) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    const Sources sources =
        AnySources(random, kAllLayouts[seed % std::size(kAllLayouts)]);
    const std::vector<RowRef> refs = AnyRefs(random, sources);
    const absl::StatusOr<Column> gathered = Gather(sources.columns, refs, HeapPool());
    ASSERT_THAT(gathered, IsOk());
    ASSERT_EQ(ReadRows(*gathered), sources.Pick(refs));
  }
}

TEST(CopyRowsTest, JoinsRowsOfDifferentLayouts) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    const Sources sources = AnySources(random, std::nullopt);
    const std::vector<RowRef> refs = AnyRefs(random, sources);
    for (const bool gather : {false, true}) {
      const absl::StatusOr<Column> joined =
          gather ? Gather(sources.columns, refs, HeapPool())
                 : Concatenate(sources.columns, HeapPool());
      ASSERT_THAT(joined, IsOk());
      ASSERT_EQ(ReadRows(*joined), sources.Pick(gather ? refs : sources.Refs()));
    }
  }
}

TEST(CopyRowsTest, JoinsRowsOfDifferentRanksAsTensors) {
  const Column flat = Ints({1, 2, 3, 4}).Stack(2);
  const Column square = Ints({5, 6, 7, 8}).Stack(2).Stack(2);
  const Column joined = Concatenate({flat, square}, HeapPool()).value();
  EXPECT_TRUE(joined.HoldsTensors());
  EXPECT_EQ(joined.Row(1).value(), Tensor::FromValues<int32_t>({3, 4}, {2}));
  EXPECT_EQ(joined.Row(2).value(), Tensor::FromValues<int32_t>({5, 6, 7, 8}, {2, 2}));
}

// Ragged batches of images beside batches that came as one tensor each.
TEST(CopyRowsTest, JoinsRaggedBatchesWithTensorsByTheirLeadingAxis) {
  const Column batch =
      Column::OfTensors(DType::kInt32, TensorsOf({{1, 2}, {2, 1}})).Stack(2);
  const Column whole = Column::OfTensors(DType::kInt32, TensorsOf({{3, 2, 2}}));
  const Column joined = Concatenate({batch, whole}, HeapPool()).value();
  EXPECT_TRUE(SameRows(joined.Slice(0, 1), batch));
  EXPECT_TRUE(SameRows(joined.Slice(1, 1), whole));
  EXPECT_EQ(joined.LeadingSize(1), 3);
}

TEST(CopyRowsTest, OneColumnIsJoinedWithoutACopy) {
  const Column column = Ints({1, 2, 3});
  EXPECT_EQ(Concatenate({column}, HeapPool()).value().values().data(),
            column.values().data());
}

TEST(CopyRowsTest, GathersRowsOfOneColumn) {
  const Column column = Ints({10, 11, 12, 13});
  EXPECT_THAT(Gather(column, {3, 0, 0, 1}, HeapPool()).value().As<int32_t>(),
              ElementsAre(13, 10, 10, 11));
  EXPECT_EQ(Gather(column, {}, HeapPool()).value().rows(), 0);
}

// The small sizes have loops of their own; 3, 12 and 100 take the general way.
TEST(CopyRowsTest, GathersDenseRowsOfEverySize) {
  for (const int64_t size : {0, 1, 2, 3, 4, 8, 12, 16, 100}) {
    std::vector<uint8_t> bytes(size * 6);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
    const Column column = Column::Dense(DType::kUint8, 6, {size}, BufferOf(bytes));
    const PlainRows rows = ReadRows(column);
    const std::vector<RowRef> refs = {{1, 2}, {0, 5}, {0, 0}, {0, 1}, {1, 2}};
    const Column gathered =
        Gather({column, column.Slice(1, 5)}, refs, HeapPool()).value();
    EXPECT_EQ(ReadRows(gathered),
              (PlainRows{rows[3], rows[5], rows[0], rows[1], rows[3]}));
    EXPECT_THAT(gathered.row_shape(), Optional(Shape{size}));
  }
}

TEST(CopyRowsTest, SmallRowsNeedNoAlignment) {
  const Buffer bytes = BufferOf("-abcdefghABCDEFGH", 17).Slice(1, 16);
  const Column column = Column::Dense(DType::kUint8, 2, {8}, bytes);
  EXPECT_EQ(Gather(column, {1, 0}, HeapPool()).value().values().text(),
            "ABCDEFGHabcdefgh");
}

TEST(CopyRowsTest, EqualShapesStayDense) {
  const Column a = Ints({1, 2, 3, 4}).Stack(2);
  const Column b = Ints({5, 6}).Stack(2);
  EXPECT_THAT(Concatenate({a, b}, HeapPool()).value().row_shape(), Optional(Shape{2}));
  EXPECT_THAT(Gather({a, b}, {{1, 0}, {0, 1}}, HeapPool()).value().row_shape(),
              Optional(Shape{2}));
}

TEST(CopyRowsTest, OnlyTheAxisThatDiffersBecomesRagged) {
  const Column a = Ints({1, 2, 3, 4, 5, 6}).Stack(3).Stack(2);  // [2, 3]
  const Column b = Ints({1, 2, 3, 4}).Stack(2).Stack(2);        // [2, 2]
  const Column joined = Concatenate({a, b}, HeapPool()).value();
  ASSERT_EQ(joined.levels().size(), 2U);
  EXPECT_EQ(joined.levels()[0].size, 2);
  EXPECT_FALSE(joined.levels()[1].fixed());
  EXPECT_EQ(joined.Row(1).value().shape(), (Shape{2, 2}));
}

TEST(CopyRowsTest, ColumnsThatGiveNoRowsDoNotChangeTheLayout) {
  const Column a = Ints({1, 2, 3}).Stack(3);
  const Column b = Ints({1, 2}).Stack(2);
  EXPECT_THAT(Concatenate({b.Slice(0, 0), a}, HeapPool()).value().row_shape(),
              Optional(Shape{3}));
  EXPECT_THAT(Gather({b, a}, {{1, 0}}, HeapPool()).value().row_shape(),
              Optional(Shape{3}));
}

TEST(CopyRowsTest, TensorsOfOneShapeBecomeDense) {
  const Column tensors = Column::OfTensors(DType::kInt32, TensorsOf({{2}, {2}, {3}}));
  EXPECT_TRUE(Gather(tensors, {1, 0}, HeapPool()).value().IsDense());
  EXPECT_TRUE(Concatenate({tensors.Slice(0, 1), tensors.Slice(1, 1)}, HeapPool())
                  .value()
                  .IsDense());
  EXPECT_FALSE(Gather(tensors, {1, 2}, HeapPool()).value().IsDense());
}

TEST(CopyRowsTest, BatchesOfTensorsStayBatches) {
  const Column batches =
      Column::OfTensors(DType::kInt32, TensorsOf({{2, 1}, {1, 2}, {2, 2}, {1, 1}}))
          .Stack(2);
  const Column swapped = Gather(batches, {1, 0}, HeapPool()).value();
  EXPECT_TRUE(swapped.HoldsTensors());
  EXPECT_TRUE(SameRows(swapped.Slice(0, 1), batches.Slice(1, 1)));
  const Column dense = Ints({1, 2, 3, 4}).Stack(2).Stack(1).Stack(2);
  const Column joined = Concatenate({batches, dense}, HeapPool()).value();
  EXPECT_EQ(joined.rows(), 3);
  EXPECT_TRUE(SameRows(joined.Slice(2, 1), dense));
}

TEST(CopyRowsTest, RowsOfDifferentTypesAreAnError) {
  EXPECT_THAT(Concatenate({Ints({1}), Texts({"a"})}, HeapPool()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "rows of different types cannot be joined: int32 and string"));
  EXPECT_THAT(Gather({Texts({"a"}), Ints({1})}, {{0, 0}}, HeapPool()),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CopyRowsTest, ARaggedRowAmongOtherRanksIsAnError) {
  const Column ragged = Ints({1, 2, 3}).Nest(
      1, {Level::Fixed(2), Level::Variable(BufferOf<int64_t>({0, 1, 3}))});
  EXPECT_THAT(Concatenate({ragged, Ints({1})}, HeapPool()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("row is not rectangular")));
}

TEST(CopyRowsTest, AnEmptyBatchOfTensorsHasNoShape) {
  const Column empty = Column::OfTensors(DType::kInt32, {})
                           .Nest(1, {Level::Variable(BufferOf<int64_t>({0, 0}))});
  EXPECT_THAT(ToUniform(empty, HeapPool()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty batch")));
}

TEST(CopyRowsTest, CopiesAreMadeOfTheGivenPoolsMemory) {
  Pool pool(MakeHeapAllocator(), {.budget_bytes = 4096});
  const Column column = Ints(std::vector<int32_t>(512));
  const Column copy = Gather(column, {1, 2, 3}, pool).value();
  EXPECT_EQ(pool.stats().used_bytes, 64);
  const std::vector<int64_t> many(4096, 7);
  EXPECT_THAT(Gather(column, many, pool),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Concatenate({column, column, column}, pool),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// However the budget runs out, at whichever of its buffers: an error, and nothing lost.
TEST(CopyRowsTest, EveryBudgetTooSmallIsAnError) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    const Sources sources = AnySources(random, std::nullopt);
    for (int64_t budget = 0; budget <= 1024; budget += 64) {
      Pool pool(MakeHeapAllocator(), {.budget_bytes = budget});
      const auto joined = Concatenate(sources.columns, pool);
      if (joined.ok()) {
        EXPECT_EQ(ReadRows(*joined), sources.Pick(sources.Refs()));
      } else if (absl::IsResourceExhausted(joined.status())) {
        EXPECT_EQ(pool.stats().used_bytes, 0);
      }
    }
  }
}

TEST(CopyRowsTest, FromRowsMakesEqualShapesDense) {
  const Column column =
      FromRows(DType::kInt32, TensorsOf({{2, 2}, {2, 2}}), HeapPool()).value();
  EXPECT_THAT(column.row_shape(), Optional(Shape{2, 2}));
  EXPECT_THAT(column.As<int32_t>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(
      FromRows(DType::kInt32, TensorsOf({{}, {}}), HeapPool()).value().row_shape(),
      Optional(Shape()));
  EXPECT_THAT(
      FromRows(DType::kInt32, TensorsOf({{0}, {0}}), HeapPool()).value().row_shape(),
      Optional(Shape{0}));
}

TEST(CopyRowsTest, FromRowsLeavesRowsThatLieSideBySideWhereTheyAre) {
  const Buffer values = *HeapPool().AllocateFor<int32_t>(6);
  const auto row = [&](int64_t i) {
    return Tensor::Fixed(DType::kInt32, {2}, values.Slice(8 * i, 8));
  };
  const auto place_of = [&](Tensors rows) {
    return FromRows(DType::kInt32, std::move(rows), HeapPool()).value().values().data();
  };
  EXPECT_EQ(place_of({row(0), row(1), row(2)}), values.data());
  EXPECT_EQ(place_of({row(1)}), values.data() + 8);
  EXPECT_NE(place_of({row(1), row(0)}), values.data() + 8);
}

TEST(CopyRowsTest, FromRowsMakesDifferingFirstSizesRagged) {
  const Column column =
      FromRows(DType::kInt32, TensorsOf({{1, 2}, {0, 2}, {3, 2}}), HeapPool()).value();
  ASSERT_EQ(column.levels().size(), 2U);
  EXPECT_FALSE(column.levels()[0].fixed());
  EXPECT_EQ(column.levels()[1].size, 2);
  EXPECT_EQ(column.Row(1).value().shape(), (Shape{0, 2}));
}

TEST(CopyRowsTest, FromRowsKeepsOtherShapesAsTensors) {
  EXPECT_TRUE(FromRows(DType::kInt32, TensorsOf({{2, 1}, {1, 2}}), HeapPool())
                  .value()
                  .HoldsTensors());
  EXPECT_TRUE(FromRows(DType::kInt32, TensorsOf({{2}, {1, 2}}), HeapPool())
                  .value()
                  .HoldsTensors());
  EXPECT_TRUE(FromRows(DType::kInt32, {}, HeapPool()).value().HoldsTensors());
}

TEST(CopyRowsTest, FromRowsMakesTextsOneColumnOfTexts) {
  const Column column = Texts({"ab", "", "c"});
  EXPECT_FALSE(column.HoldsTensors());
  EXPECT_EQ(column.TextAt(0), "ab");
  EXPECT_EQ(column.values().text(), "abc");
}

TEST(CopyRowsTest, FromRowsKeepsEveryRow) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    const DType dtype = random.AnyDType();
    const Sample sample = random.Sliced(
        Layout::kTensors, dtype, static_cast<int>(random.Below(3)), random.Below(4));
    const auto tensors = sample.column.tensors();
    const auto column =
        FromRows(dtype, Tensors(tensors.begin(), tensors.end()), HeapPool());
    ASSERT_THAT(column, IsOk());
    EXPECT_EQ(ReadRows(*column), sample.rows);
    for (int64_t row = 0; row < column->rows(); ++row) {
      EXPECT_EQ(column->Row(row).value(), tensors[row]);
    }
  }
}

TEST(CopyRowsTest, FromRowsOfAnotherTypeIsAnError) {
  for (const DType dtype : {DType::kInt64, DType::kString}) {
    EXPECT_THAT(FromRows(dtype, TensorsOf({{2}, {3, 1}}), HeapPool()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("and int32")));
  }
}

TEST(CopyRowsTest, ToUniformLeavesWhatIsUniformAlone) {
  const Column dense = Ints({1, 2, 3, 4}).Stack(2);
  EXPECT_EQ(ToUniform(dense, HeapPool()).value().values().data(),
            dense.values().data());
  const Column texts = Texts({"a", "b"});
  EXPECT_EQ(ToUniform(texts, HeapPool()).value().values().data(),
            texts.values().data());
}

TEST(CopyRowsTest, ToUniformMakesEqualRowsOfAnyLayoutStackable) {
  const Column ragged =
      Ints({1, 2, 3, 4}).Nest(2, {Level::Variable(BufferOf<int64_t>({0, 2, 4}))});
  const Column tensors = Column::OfTensors(DType::kInt32, TensorsOf({{2}, {2}}));
  for (const Column& column : {ragged, tensors, ragged.Stack(1), tensors.Stack(1)}) {
    const Column uniform = ToUniform(column, HeapPool()).value();
    EXPECT_TRUE(uniform.IsDense());
    EXPECT_TRUE(SameRows(uniform, column));
  }
}

TEST(CopyRowsTest, TextsWithGapsAreCopiedWithoutThem) {
  PlainRows rows = {Plain::Leaf("one"), Plain::Leaf(""), Plain::Leaf("three")};
  const Column column = BuildWithGaps(DType::kBytes, rows);
  for (const absl::StatusOr<Column>& copy :
       {WithoutGaps(column, HeapPool()), ToUniform(column, HeapPool())}) {
    ASSERT_THAT(copy, IsOk());
    EXPECT_FALSE(copy->HasGaps());
    EXPECT_EQ(copy->values().size(), 8);
    EXPECT_EQ(ReadRows(*copy), rows);
    EXPECT_EQ(ReadRows(copy->Stack(3))[0], Plain::List(rows));
  }
  const Column none = WithoutGaps(column.Slice(3, 0), HeapPool()).value();
  EXPECT_FALSE(none.HasGaps());
  EXPECT_EQ(none.rows(), 0);
  const Column dense = Ints({1, 2});
  EXPECT_EQ(WithoutGaps(dense, HeapPool())->values().data(), dense.values().data());
}

TEST(CopyRowsTest, ToUniformNamesTwoShapesThatDiffer) {
  const Column ragged =
      Ints({1, 2, 3}).Nest(2, {Level::Variable(BufferOf<int64_t>({0, 2, 3}))});
  const Column tensors = Column::OfTensors(DType::kInt32, TensorsOf({{2}, {1}}));
  for (const Column& column : {ragged, tensors, tensors.Stack(2)}) {
    EXPECT_THAT(ToUniform(column, HeapPool()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "rows have different shapes: [2] and [1]"));
  }
}

TEST(CopyRowsTest, ToUniformOfAnySampleKeepsItsRows) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    const Sample sample = random.Any();
    const absl::StatusOr<Column> uniform = ToUniform(sample.column, HeapPool());
    if (!uniform.ok()) continue;
    EXPECT_TRUE(uniform->row_shape().has_value() || uniform->rows() == 0);
    EXPECT_EQ(ReadRows(*uniform), sample.rows);
  }
}

TEST(CopyRowsTest, ReachingOutsideIsAProgrammingError) {
  const Column column = Ints({1, 2, 3});
  EXPECT_DEATH((void)Gather(column, {3}, HeapPool()), "rows");
  EXPECT_DEATH((void)Gather(column, {-1}, HeapPool()), "row");
  const std::vector<RowRef> second = {{.source = 1, .row = 0}};
  EXPECT_DEATH((void)Gather({column}, second, HeapPool()), "source");
  const std::vector<RowRef> negative = {{.source = -1, .row = 0}};
  EXPECT_DEATH((void)Gather({column}, negative, HeapPool()), "source");
  EXPECT_DEATH((void)Concatenate({}, HeapPool()), "columns");
}

}  // namespace
}  // namespace millrace::core
