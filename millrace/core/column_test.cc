#include "millrace/core/column.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
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

constexpr int kSeeds = 300;

Column Ints(const std::vector<int32_t>& values) {
  return Column::Dense(DType::kInt32, std::ssize(values), {}, BufferOf(values));
}

// Rows [1, 2], [], [3, 4, 5].
Column RaggedInts() {
  return Column::FromLevels(DType::kInt32, 3,
                            {Level::Variable(BufferOf<int64_t>({0, 2, 2, 5}))},
                            BufferOf<int32_t>({1, 2, 3, 4, 5}))
      .value();
}

// Rows ["ab", ""], ["cde"].
Column Words() {
  return Column::FromLevels(DType::kString, 2,
                            {Level::Variable(BufferOf<int64_t>({0, 2, 3})),
                             Level::Variable(BufferOf<int64_t>({0, 2, 2, 5}))},
                            BufferOf("abcde", 5))
      .value();
}

// Two tensors of differing shape.
Column TwoTensors() {
  return Column::OfTensors(DType::kInt32, {Tensor::FromValues<int32_t>({1, 2}, {2}),
                                           Tensor::FromValues<int32_t>({3}, {1, 1})});
}

Column WithGaps(const std::vector<std::string>& texts) {
  PlainRows rows;
  for (const std::string& text : texts) rows.push_back(Plain::Leaf(text));
  return BuildWithGaps(DType::kString, rows);
}

// Calls `check` with random samples of every layout, sliced and not.
void ForAnySample(const std::function<void(RandomSamples&, const Sample&)>& check) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomSamples random(seed);
    const Layout layout = kAllLayouts[seed % std::size(kAllLayouts)];
    const bool gaps = layout == Layout::kGaps;
    const DType dtype = gaps ? DType::kBytes : random.AnyDType();
    const auto rank = gaps ? 0 : static_cast<int>(random.Below(4));
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << ", " << dtype << ", rank " << rank << ", layout "
                 << seed % std::size(kAllLayouts));
    check(random, random.Of(layout, dtype, rank, random.Below(8)));
    check(random, random.Sliced(layout, dtype, rank, random.Below(8)));
  }
}

// Whether a plain value is a rectangle, so that it could be a tensor.
bool SameForm(const Plain& a, const Plain& b) {
  if (a.is_list != b.is_list || a.list.size() != b.list.size()) return false;
  return std::ranges::equal(a.list, b.list, SameForm);
}

bool IsRectangular(const Plain& value) {
  return std::ranges::all_of(value.list, [&](const Plain& part) {
    return SameForm(part, value.list[0]) && IsRectangular(part);
  });
}

TEST(ColumnTest, TheDefaultHasNoRows) {
  const Column column;
  EXPECT_EQ(column.rows(), 0);
  EXPECT_EQ(column.dtype(), DType::kBool);
  EXPECT_TRUE(column.IsDense());
  EXPECT_EQ(column.Slice(0, 0).rows(), 0);
  EXPECT_EQ(column.content_bytes(), 0);
}

TEST(ColumnTest, DenseRowsHaveOneShape) {
  const Column column =
      Column::Dense(DType::kUint8, 2, {3, 1}, BufferOf<uint8_t>({1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(column.IsDense());
  EXPECT_THAT(column.row_shape(), Optional(Shape{3, 1}));
  EXPECT_THAT(column.As<uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  const Tensor row = column.Row(1).value();
  EXPECT_EQ(row.shape(), (Shape{3, 1}));
  EXPECT_THAT(row.As<uint8_t>(), ElementsAre(4, 5, 6));
}

TEST(ColumnTest, TextsHaveOneTextPerRow) {
  const Column column = Column::Texts(DType::kBytes, 3, BufferOf<int64_t>({1, 3, 3, 6}),
                                      BufferOf("-abcde-", 7));
  EXPECT_FALSE(column.IsDense());
  EXPECT_THAT(column.row_shape(), Optional(Shape()));
  EXPECT_TRUE(column.shape_levels().empty());
  EXPECT_EQ(column.TextAt(0), "ab");
  EXPECT_EQ(column.TextAt(1), "");
  EXPECT_EQ(column.TextAt(2), "cde");
  EXPECT_EQ(column.Row(2).value(), Tensor::Text("cde", DType::kBytes));
  EXPECT_EQ(column.content_bytes(), 5);
}

TEST(ColumnTest, RaggedRowsDifferInSize) {
  const Column column = RaggedInts();
  EXPECT_FALSE(column.IsDense());
  EXPECT_EQ(column.row_shape(), std::nullopt);
  EXPECT_EQ(column.Row(0).value(), Tensor::FromValues<int32_t>({1, 2}, {2}));
  EXPECT_EQ(column.Row(1).value(), Tensor::FromValues<int32_t>({}, {0}));
  EXPECT_EQ(column.Row(2).value(), Tensor::FromValues<int32_t>({3, 4, 5}, {3}));
}

TEST(ColumnTest, RowsMayBeListsOfTexts) {
  const Column column = Words();
  EXPECT_EQ(column.Row(0).value(), Tensor::FromTexts({"ab", ""}, {2}));
  EXPECT_EQ(column.Row(1).value(), Tensor::FromTexts({"cde"}, {1}));
  EXPECT_EQ(column.shape_levels().size(), 1U);
}

TEST(ColumnTest, RowsMayBeTensorsOfAnyShape) {
  const Column column = TwoTensors();
  EXPECT_TRUE(column.HoldsTensors());
  EXPECT_EQ(column.row_shape(), std::nullopt);
  EXPECT_EQ(column.Row(0).value().shape(), (Shape{2}));
  EXPECT_EQ(column.Row(1).value().shape(), (Shape{1, 1}));
  EXPECT_EQ(column.content_bytes(), 12);
}

TEST(ColumnTest, ARowThatIsNotRectangularIsAnError) {
  const Column lists =
      Column::FromLevels(
          DType::kInt32, 1,
          {Level::Fixed(3), Level::Variable(BufferOf<int64_t>({0, 2, 2, 5}))},
          BufferOf<int32_t>({1, 2, 3, 4, 5}))
          .value();
  EXPECT_THAT(lists.Row(0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "row is not rectangular: it holds values of sizes 2 and 0"));
  EXPECT_THAT(TwoTensors().Stack(2).Row(0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a batch of tensors that may differ in shape")));
}

TEST(ColumnTest, RepeatsOneValue) {
  const Column numbers =
      Column::Repeat(Tensor::FromValues<int32_t>({1, 2}, {2}), 3, HeapPool()).value();
  EXPECT_TRUE(numbers.IsDense());
  EXPECT_THAT(numbers.As<int32_t>(), ElementsAre(1, 2, 1, 2, 1, 2));
  const Column texts = Column::Repeat(Tensor::Text("ab"), 2, HeapPool()).value();
  EXPECT_EQ(texts.rows(), 2);
  EXPECT_EQ(texts.TextAt(1), "ab");
  EXPECT_EQ(Column::Repeat(Tensor(), 5, HeapPool()).value().rows(), 5);
}

TEST(ColumnTest, RepeatingBeyondTheBudgetIsAnError) {
  Pool pool(MakeHeapAllocator(), {.budget_bytes = 1000});
  const Tensor value = Tensor::FromValues<int32_t>({1, 2}, {2});
  for (const int64_t rows : {int64_t{1000}, INT64_MAX / 8, INT64_MAX}) {
    EXPECT_THAT(Column::Repeat(value, rows, pool),
                StatusIs(absl::StatusCode::kResourceExhausted));
  }
}

TEST(ColumnTest, TextsMayHaveGapsBetweenThem) {
  const Column column = WithGaps({"one", "", "three"});
  EXPECT_TRUE(column.HasGaps());
  EXPECT_EQ(column.TextAt(0), "one");
  EXPECT_EQ(column.TextAt(1), "");
  EXPECT_EQ(column.Row(2)->TextAt(0), "three");
  EXPECT_EQ(column.content_bytes(), 8);
  EXPECT_EQ(column.row_shape(), Shape());
  EXPECT_EQ(column.Slice(1, 2).TextAt(1), "three");
  EXPECT_EQ(column.Slice(1, 2).content_bytes(), 5);
  EXPECT_TRUE(column.Slice(3, 0).HasGaps());
  EXPECT_EQ(column.Slice(3, 0).content_bytes(), 0);
  EXPECT_TRUE(SameRows(column, WithGaps({"one", "", "three"})));
  EXPECT_FALSE(SameRows(column, WithGaps({"one", "x", "three"})));
}

TEST(ColumnTest, AnyLayoutReadsBackRowByRow) {
  ForAnySample([](RandomSamples&, const Sample& sample) {
    ASSERT_EQ(ReadRows(sample.column), sample.rows);
    for (int64_t row = 0; row < sample.column.rows(); ++row) {
      const absl::StatusOr<Tensor> tensor = sample.column.Row(row);
      if (tensor.ok()) {
        EXPECT_EQ(ReadTensor(*tensor), sample.rows[row]);
      } else {
        EXPECT_TRUE(!IsRectangular(sample.rows[row]) || sample.column.HoldsTensors());
      }
    }
  });
}

TEST(ColumnTest, AnySliceHasTheRowsOfItsRange) {
  ForAnySample([](RandomSamples& random, const Sample& sample) {
    const int64_t begin = random.Below(sample.column.rows() + 1);
    const int64_t rows = random.Below(sample.column.rows() - begin + 1);
    const Column part = sample.column.Slice(begin, rows);
    const PlainRows expected(sample.rows.begin() + begin,
                             sample.rows.begin() + begin + rows);
    ASSERT_EQ(ReadRows(part), expected);
    EXPECT_EQ(part.content_bytes(), LeafBytes(expected));
    EXPECT_EQ(part.dtype(), sample.column.dtype());
    EXPECT_EQ(part.row_shape(), sample.column.row_shape());
  });
}

TEST(ColumnTest, AnySliceSharesItsMemory) {
  ForAnySample([](RandomSamples& random, const Sample& sample) {
    const Column& column = sample.column;
    const Column part = column.Slice(random.Below(column.rows() + 1), 0);
    ASSERT_EQ(part.levels().size(), column.levels().size());
    for (size_t i = 0; i < part.levels().size(); ++i) {
      EXPECT_EQ(part.levels()[i].offsets.storage(),
                column.levels()[i].offsets.storage());
    }
    EXPECT_EQ(part.values().storage(), column.values().storage());
  });
}

TEST(ColumnTest, ADenseSliceIsTheWholeOfItsValues) {
  const Column part = Ints({1, 2, 3, 4, 5}).Slice(1, 3);
  EXPECT_THAT(part.As<int32_t>(), ElementsAre(2, 3, 4));
  EXPECT_EQ(part.values().size(), 12);
}

TEST(ColumnTest, WhatASliceIsMadeOfMakesTheSameColumnAgain) {
  ForAnySample([](RandomSamples&, const Sample& sample) {
    const Column& column = sample.column;
    if (column.HoldsTensors()) return;
    const auto again = Column::FromLevels(column.dtype(), column.rows(),
                                          column.levels(), column.values());
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(ReadRows(*again), sample.rows);
  });
}

TEST(ColumnTest, StackingGroupsRowsAndUnstackingUndoesIt) {
  ForAnySample([](RandomSamples& random, const Sample& sample) {
    const int64_t size = 1 + random.Below(3);
    const int64_t groups = sample.column.rows() / size;
    const Column rows = sample.column.Slice(0, groups * size);
    if (rows.HasGaps()) return;
    const Column stacked = rows.Stack(size);
    ASSERT_EQ(stacked.rows(), groups);
    for (int64_t i = 0; i < groups; ++i) {
      const auto first = sample.rows.begin() + i * size;
      EXPECT_EQ(ReadRows(stacked)[i], Plain::List({first, first + size}));
      EXPECT_EQ(stacked.LeadingSize(i), size);
    }
    EXPECT_EQ(stacked.content_bytes(), rows.content_bytes());
    EXPECT_EQ(stacked.values().data(), rows.values().data());
    EXPECT_TRUE(stacked.HasLeadingAxis());
    EXPECT_EQ(ReadRows(stacked.Unstack()), ReadRows(rows));
  });
}

TEST(ColumnTest, UnstackingGivesWhatTheRowsHold) {
  ForAnySample([](RandomSamples&, const Sample& sample) {
    if (!sample.column.HasLeadingAxis()) return;
    PlainRows inside;
    for (size_t i = 0; i < sample.rows.size(); ++i) {
      const std::vector<Plain>& list = sample.rows[i].list;
      EXPECT_EQ(sample.column.LeadingSize(static_cast<int64_t>(i)), std::ssize(list));
      inside.insert(inside.end(), list.begin(), list.end());
    }
    const Column unstacked = sample.column.Unstack();
    EXPECT_EQ(ReadRows(unstacked), inside);
    EXPECT_EQ(unstacked.content_bytes(), LeafBytes(inside));
  });
}

TEST(ColumnTest, HasALeadingAxisWhenEveryRowHas) {
  ForAnySample([](RandomSamples&, const Sample& sample) {
    const bool lists = std::ranges::all_of(sample.rows, &Plain::is_list);
    if (sample.rows.empty()) return;
    EXPECT_EQ(sample.column.HasLeadingAxis(), lists);
  });
  EXPECT_FALSE(
      Column::Texts(DType::kString, 0, BufferOf<int64_t>({0}), {}).HasLeadingAxis());
}

TEST(ColumnTest, BelowKeepsThePlacesThatOffsetsName) {
  const Column part = RaggedInts().Slice(2, 1);  // [3, 4, 5], at places 2 to 4.
  EXPECT_THAT(part.Below().As<int32_t>(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(part.Unstack().As<int32_t>(), ElementsAre(3, 4, 5));
}

TEST(ColumnTest, NestingAddsSeveralLevelsAtOnce) {
  const Column nested =
      Ints({1, 2, 3, 4, 5, 6})
          .Nest(1, {Level::Variable(BufferOf<int64_t>({0, 3})), Level::Fixed(2)});
  EXPECT_EQ(nested.Row(0).value(),
            Tensor::FromValues<int32_t>({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_DEATH(Ints({1, 2, 3}).Nest(1, {Level::Fixed(2)}), "rows_");
}

TEST(ColumnTest, SameRowsSeesThroughTheLayout) {
  const Tensor two = Tensor::FromValues<int32_t>({1, 2}, {2});
  const Column dense =
      Column::Dense(DType::kInt32, 2, {2}, BufferOf<int32_t>({1, 2, 1, 2}));
  const Column ragged =
      Ints({1, 2, 1, 2}).Nest(2, {Level::Variable(BufferOf<int64_t>({0, 2, 4}))});
  const Column tensors = Column::OfTensors(DType::kInt32, {two, two});
  for (const Column& a : {dense, ragged, tensors}) {
    for (const Column& b : {dense, ragged, tensors}) {
      EXPECT_TRUE(SameRows(a, b));
      EXPECT_TRUE(SameRows(a.Stack(2), b.Stack(2)));
      EXPECT_TRUE(SameRows(a.Stack(1).Stack(2), b.Stack(1).Stack(2)));
      EXPECT_FALSE(SameRows(a, b.Slice(0, 1)));
      EXPECT_FALSE(SameRows(a.Stack(2), b.Stack(1)));
    }
  }
  EXPECT_TRUE(SameRows(dense.Slice(0, 0), tensors.Slice(0, 0)));
}

TEST(ColumnTest, SameRowsIsEqualityOfWhatIsHeld) {
  Sample last;
  ForAnySample([&](RandomSamples& random, const Sample& sample) {
    EXPECT_TRUE(SameRows(sample.column, sample.column));
    if (sample.column.dtype() == last.column.dtype() && sample.rows != last.rows) {
      EXPECT_FALSE(SameRows(sample.column, last.column));
    }
    if (!sample.rows.empty()) {
      const int64_t begin = random.Below(sample.column.rows());
      const Column other = sample.column.Slice(begin, sample.column.rows() - begin);
      EXPECT_EQ(SameRows(sample.column, other), begin == 0);
    }
    last = sample;
  });
}

TEST(ColumnTest, SameRowsTellsTypesAndValuesApart) {
  EXPECT_FALSE(SameRows(Ints({1}), Ints({2})));
  EXPECT_FALSE(SameRows(Ints({1}), Ints({1}).Stack(1)));
  EXPECT_FALSE(SameRows(Ints({1}),
                        Column::Dense(DType::kUint32, 1, {}, BufferOf<uint32_t>({1}))));
  EXPECT_FALSE(SameRows(
      RaggedInts().Stack(3),
      Ints({1, 2, 3, 4, 5})
          .Nest(1,
                {Level::Fixed(3), Level::Variable(BufferOf<int64_t>({0, 2, 3, 5}))})));
}

// --- What comes from outside is checked, and refused with words. ---

struct Malformed {
  std::string_view why;
  DType dtype;
  int64_t rows;
  Levels levels;
  Buffer values;
  std::string_view message;
};

Level Offsets(const std::vector<int64_t>& offsets) {
  return Level::Variable(BufferOf(offsets));
}

Level Places(const std::vector<int64_t>& places) {
  return Level::WithGaps(BufferOf(places));
}

// The same bytes, one byte off.
Buffer Misaligned(const Buffer& buffer) {
  Buffer larger = HeapPool().Allocate(buffer.size() + 1).value();
  std::memcpy(larger.mutable_data() + 1, buffer.data(), buffer.size());
  return larger.Slice(1, buffer.size());
}

std::vector<Malformed> MalformedSizes() {
  const DType i32 = DType::kInt32;
  const Buffer none;
  const int64_t huge = int64_t{1} << 40;
  return {
      {"negative rows", i32, -1, {}, none, "absurd size: -1"},
      {"rows that wrap when counted", i32, INT64_MAX, {Offsets({})}, none, "absurd"},
      {"rows whose offsets wrap to none",
       i32,
       (int64_t{1} << 61) - 1,
       {Offsets({})},
       none,
       "absurd"},
      {"rows whose bytes wrap to none", i32, int64_t{1} << 62, {}, none, "absurd"},
      {"negative size", i32, 1, {Level::Fixed(-2)}, none, "absurd size: -2"},
      {"negative size of no rows", i32, 0, {Level::Fixed(-7)}, none, "absurd size: -7"},
      {"product that wraps", i32, huge, {Level::Fixed(huge)}, none, "absurd"},
      {"product that wraps, of no rows",
       i32,
       0,
       {Level::Fixed(huge), Level::Fixed(huge)},
       none,
       "too large"},
      {"size that no memory has", i32, 1, {Level::Fixed(INT64_MAX)}, none, "too large"},
  };
}

std::vector<Malformed> MalformedOffsets() {
  const DType i32 = DType::kInt32;
  const Buffer none;
  const Buffer four = BufferOf<int32_t>({1, 2, 3, 4});
  const Buffer cut = BufferOf<int64_t>({0, 4}).Slice(0, 12);
  const Buffer more = BufferOf<int64_t>({0, 4, 4}).Slice(0, 20);
  const auto absurd = int64_t{1} << 61;
  return {
      {"no offsets", i32, 1, {Offsets({})}, four, "0 offsets for 1 values"},
      {"no offsets for no rows", i32, 0, {Offsets({})}, none, "0 offsets for 0 values"},
      {"too few offsets", i32, 2, {Offsets({0, 4})}, four, "2 offsets for 2 values"},
      {"too many offsets",
       i32,
       1,
       {Offsets({0, 2, 4})},
       four,
       "3 offsets for 1 values"},
      {"one offset and a half",
       i32,
       1,
       {Level::Variable(cut)},
       four,
       "1 offsets for 1"},
      {"two and a half", i32, 1, {Level::Variable(more)}, four, "2 offsets for 1"},
      {"misaligned offsets",
       i32,
       1,
       {Level::Variable(Misaligned(BufferOf<int64_t>({0, 4})))},
       four,
       "not aligned"},
      {"falling offsets", i32, 2, {Offsets({0, 4, 2})}, four, "do not rise"},
      {"a dip in the middle", i32, 3, {Offsets({0, 3, 1, 4})}, four, "do not rise"},
      {"a negative offset", i32, 1, {Offsets({-1, 4})}, four, "do not rise"},
      {"too few inner offsets",
       i32,
       1,
       {Offsets({0, 3}), Offsets({0, 1, 2})},
       four,
       "3 offsets for 3 values"},
      {"inner offsets that fall",
       i32,
       1,
       {Offsets({0, 2}), Offsets({0, 4, 3})},
       four,
       "do not rise"},
      {"an offset whose bytes wrap to none",
       i32,
       1,
       {Offsets({0, absurd * 2})},
       four,
       "absurd"},
      {"an offset that wraps one level down",
       i32,
       1,
       {Offsets({0, absurd - 1}), Offsets({})},
       four,
       "absurd"},
      {"an offset that wraps with a size",
       i32,
       1,
       {Offsets({0, int64_t{1} << 47}), Level::Fixed(1 << 20)},
       four,
       "absurd"},
  };
}

std::vector<Malformed> MalformedValues() {
  const DType i32 = DType::kInt32;
  const Buffer four = BufferOf<int32_t>({1, 2, 3, 4});
  return {
      {"too few values", i32, 5, {}, four, "16 bytes of values where 20 are needed"},
      {"too many values", i32, 3, {}, four, "16 bytes of values where 12 are needed"},
      {"no values", i32, 1, {}, Buffer(), "0 bytes of values where 4 are needed"},
      {"values below fixed sizes", i32, 1, {Level::Fixed(3)}, four, "where 12"},
      {"offsets beyond the values", i32, 1, {Offsets({0, 5})}, four, "where 20"},
      {"misaligned values", i32, 4, {}, Misaligned(four), "not aligned"},
      {"texts without offsets", DType::kString, 1, {}, four, "no offsets for them"},
      {"texts of fixed extent",
       DType::kBytes,
       1,
       {Level::Fixed(4)},
       four,
       "no offsets for them"},
      {"texts beyond the data", DType::kBytes, 1, {Offsets({0, 17})}, four, "where 17"},
      {"gaps and texts beyond", DType::kBytes, 1, {Places({3, 17})}, four, "where 17"},
      {"gaps between numbers", i32, 1, {Places({0, 4})}, four, "more than texts"},
      {"gaps below other levels",
       DType::kBytes,
       1,
       {Level::Fixed(1), Places({0, 4})},
       four,
       "more than texts"},
      {"too few places", DType::kBytes, 2, {Places({0, 4})}, four, "2 offsets for 2"},
      {"texts that overlap", DType::kBytes, 2, {Places({0, 3, 2, 4})}, four, "rise"},
  };
}

void ExpectRefused(const Malformed& input) {
  EXPECT_THAT(Column::FromLevels(input.dtype, input.rows, input.levels, input.values),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(std::string(input.message))))
      << input.why;
}

TEST(ColumnTest, MalformedSizesAreErrors) {
  for (const Malformed& input : MalformedSizes()) ExpectRefused(input);
}

TEST(ColumnTest, MalformedOffsetsAreErrors) {
  for (const Malformed& input : MalformedOffsets()) ExpectRefused(input);
}

TEST(ColumnTest, MalformedValuesAreErrors) {
  for (const Malformed& input : MalformedValues()) ExpectRefused(input);
}

TEST(ColumnTest, BytesNeedNoAlignment) {
  const Buffer bytes = Misaligned(BufferOf("abcd", 4));
  EXPECT_THAT(Column::FromLevels(DType::kUint8, 4, {}, bytes), IsOk());
  EXPECT_THAT(Column::FromLevels(DType::kString, 1, {Offsets({0, 4})}, bytes), IsOk());
}

// Random damage to sound columns: an error, or a column that can be read to the end.
TEST(ColumnTest, DamagedOffsetsNeverLeadOutside) {
  const int64_t bad[] = {-1, 1, 7, 1 << 20, INT64_MAX, INT64_MIN, int64_t{1} << 61};
  ForAnySample([&](RandomSamples& random, const Sample& sample) {
    if (sample.column.HoldsTensors()) return;
    Levels levels = sample.column.levels();
    for (Level& level : levels) {
      if (level.offsets.size() == 0 || random.Below(2) == 0) continue;
      Buffer copy = BufferOf(level.offsets.data(), level.offsets.size());
      auto offsets = copy.MutableAs<int64_t>();
      offsets[random.Below(std::ssize(offsets))] = bad[random.Below(std::size(bad))];
      level.offsets = copy;
    }
    const auto column = Column::FromLevels(sample.column.dtype(), sample.column.rows(),
                                           levels, sample.column.values());
    if (!column.ok()) return;
    EXPECT_EQ(std::ssize(ReadRows(*column)), column->rows());
    EXPECT_LE(column->content_bytes(), column->values().size());
  });
}

TEST(ColumnTest, BuffersThatDoNotFitAreProgrammingErrors) {
  const Buffer four = BufferOf<int32_t>({1, 2, 3, 4});
  EXPECT_DEATH(Column::Dense(DType::kInt32, 5, {}, four), "where 20 are needed");
  EXPECT_DEATH(Column::Dense(DType::kInt32, int64_t{1} << 40, {1 << 22}, {}), "absurd");
  EXPECT_DEATH(Column::Dense(DType::kString, 4, {}, four), "IsVariable");
  EXPECT_DEATH(Column::Texts(DType::kInt32, 4, {}, four), "IsVariable");
  EXPECT_DEATH(Column::OfTensors(DType::kInt8, {Tensor::Scalar(1)}), "dtype");
}

TEST(ColumnTest, ReachingOutsideIsAProgrammingError) {
  const Column column = Ints({1, 2, 3});
  EXPECT_DEATH((void)column.Row(3), "row");
  EXPECT_DEATH((void)column.Row(-1), "row");
  EXPECT_DEATH((void)column.Slice(2, 2), "rows");
  EXPECT_DEATH((void)column.Slice(-1, 2), "begin");
  EXPECT_DEATH((void)column.Slice(0, -1), "rows");
  EXPECT_DEATH((void)column.Stack(2), "size");
  EXPECT_DEATH((void)column.Stack(0), "size");
  EXPECT_DEATH((void)column.Unstack(), "HasLeadingAxis");
  EXPECT_DEATH((void)column.Below(), "shape_levels");
  EXPECT_DEATH((void)column.tensors(), "HoldsTensors");
  EXPECT_DEATH((void)column.As<int64_t>(), "dtype_");
  EXPECT_DEATH((void)RaggedInts().As<int32_t>(), "IsDense");
  EXPECT_DEATH((void)Words().TextAt(0), "shape_levels");
  EXPECT_DEATH((void)WithGaps({"a", "b"}).Stack(2), "HasGaps");
  EXPECT_DEATH((void)WithGaps({"a", "b"}).Nest(1, {Level::Fixed(2)}), "HasGaps");
  EXPECT_DEATH((void)RaggedInts().LeadingSize(3), "row");
}

}  // namespace
}  // namespace millrace::core
