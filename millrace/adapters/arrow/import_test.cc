#include "millrace/adapters/arrow/import.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/adapters/arrow/fields.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"

namespace millrace::arrow {
namespace {

using absl::StatusCode::kDataLoss;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// An array over buffers of the test; children are those of the test too.
struct TestArray {
  explicit TestArray(int64_t length, std::vector<const void*> of = {},
                     std::vector<ArrowArray*> below = {})
      : buffers(std::move(of)), children(std::move(below)) {
    array = {.length = length,
             .null_count = -1,
             .offset = 0,
             .n_buffers = std::ssize(buffers),
             .n_children = std::ssize(children),
             .buffers = buffers.data(),
             .children = children.data(),
             .dictionary = nullptr,
             .release = [](ArrowArray* released) { released->release = nullptr; },
             .private_data = nullptr};
  }

  std::vector<const void*> buffers;
  std::vector<ArrowArray*> children;
  ArrowArray array;
};

Leaf LeafOf(core::DType dtype, std::vector<Step> steps) {
  return {.spec = {"x", dtype, {}}, .steps = std::move(steps)};
}

absl::StatusOr<Imported> ImportAs(const TestArray& array, const Leaf& leaf) {
  return Import(Share(array.array), leaf, core::HeapPool());
}

const Step kInt32 = {.layout = Layout::kFixed, .width = 4};
const Step kUtf8 = {.layout = Layout::kTexts};
const Step kList32 = {.layout = Layout::kList};

std::vector<std::string> TextsOf(const core::Column& column) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < column.rows(); ++i) texts.emplace_back(column.TextAt(i));
  return texts;
}

TEST(ImportTest, NumbersStayWhereTheyAre) {
  const std::array<int32_t, 5> numbers = {1, 2, 3, 4, 5};
  TestArray array(3, {nullptr, numbers.data()});
  array.array.offset = 1;
  const auto imported = ImportAs(array, LeafOf(core::DType::kInt32, {kInt32}));
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(imported->column.As<int32_t>(), ElementsAre(2, 3, 4));
  EXPECT_EQ(imported->column.As<int32_t>().data(), numbers.data() + 1);
  EXPECT_THAT(imported->nulls, IsEmpty());
}

TEST(ImportTest, NumbersThatAreNotAlignedAreCopied) {
  alignas(8) std::array<char, 16> bytes = {0, 7, 0, 0, 0, 9, 0, 0, 0};
  const TestArray array(2, {nullptr, bytes.data() + 1});
  const auto imported = ImportAs(array, LeafOf(core::DType::kInt32, {kInt32}));
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(imported->column.As<int32_t>(), ElementsAre(7, 9));
}

TEST(ImportTest, DaysAreWidened) {
  const std::array<int32_t, 2> days = {-1, 20'000};
  const auto imported = ImportAs(TestArray(2, {nullptr, days.data()}),
                                 LeafOf(core::DType::kInt64, {kInt32}));
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(imported->column.As<int64_t>(), ElementsAre(-1, 20'000));
}

TEST(ImportTest, NullsBecomeDefaultsAndAreTold) {
  const std::array<double, 4> numbers = {0, 1, 2, 3};
  const uint8_t valid = 0b1011;
  TestArray array(3, {&valid, numbers.data()});
  array.array.offset = 1;
  const auto imported = ImportAs(
      array, LeafOf(core::DType::kFloat64, {{.layout = Layout::kFixed, .width = 8}}));
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(imported->nulls, ElementsAre(0, 1, 0));
  EXPECT_EQ(imported->column.As<double>()[0], 1);
  EXPECT_TRUE(std::isnan(imported->column.As<double>()[1]));
}

TEST(ImportTest, BitsBecomeBytesFromAnyPlaceOn) {
  const std::array<uint8_t, 2> bits = {0b10000000, 0b00000001};
  TestArray array(3, {nullptr, bits.data()});
  array.array.offset = 7;
  const auto imported =
      ImportAs(array, LeafOf(core::DType::kBool, {{.layout = Layout::kBits}}));
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(imported->column.As<bool>(), ElementsAre(true, true, false));
}

TEST(ImportTest, TextsOfASliceAreThoseOfTheSlice) {
  const std::array<int32_t, 4> offsets = {0, 2, 2, 5};
  TestArray array(2, {nullptr, offsets.data(), "abcde"});
  array.array.offset = 1;
  const auto imported = ImportAs(array, LeafOf(core::DType::kString, {kUtf8}));
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(TextsOf(imported->column), ElementsAre("", "cde"));
}

TEST(ImportTest, ANullTextIsEmptyAlsoWhereItHasBytes) {
  const std::array<int64_t, 4> offsets = {0, 1, 3, 4};
  const uint8_t valid = 0b101;
  const auto imported =
      ImportAs(TestArray(3, {&valid, offsets.data(), "abbc"}),
               LeafOf(core::DType::kBytes, {{.layout = Layout::kLargeTexts}}));
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(TextsOf(imported->column), ElementsAre("a", "", "c"));
  EXPECT_THAT(imported->nulls, ElementsAre(0, 1, 0));
}

TEST(ImportTest, ANullListIsEmptyAlsoWhereItHasValues) {
  const std::array<int32_t, 5> numbers = {1, 2, 3, 4, 5};
  TestArray child(5, {nullptr, numbers.data()});
  const std::array<int32_t, 4> offsets = {1, 2, 4, 5};
  const uint8_t valid = 0b101;
  const auto imported = ImportAs(TestArray(3, {&valid, offsets.data()}, {&child.array}),
                                 LeafOf(core::DType::kInt32, {kList32, kInt32}));
  ASSERT_THAT(imported, base::IsOk());
  ASSERT_EQ(imported->column.rows(), 3);
  EXPECT_THAT(imported->column.Row(0)->As<int32_t>(), ElementsAre(2));
  EXPECT_THAT(imported->column.Row(1)->As<int32_t>(), IsEmpty());
  EXPECT_THAT(imported->column.Row(2)->As<int32_t>(), ElementsAre(5));
}

TEST(ImportTest, ANullInAListIsTheRows) {
  const std::array<int32_t, 3> numbers = {1, 2, 3};
  const uint8_t valid = 0b011;
  TestArray child(3, {&valid, numbers.data()});
  const std::array<int32_t, 3> offsets = {0, 2, 3};
  const auto imported =
      ImportAs(TestArray(2, {nullptr, offsets.data()}, {&child.array}),
               LeafOf(core::DType::kInt32, {kList32, kInt32}));
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(imported->nulls, ElementsAre(0, 1));
  EXPECT_THAT(imported->column.Row(1)->As<int32_t>(), ElementsAre(0));
}

TEST(ImportTest, ADictionaryIsLookedUp) {
  const std::array<int32_t, 3> offsets = {0, 1, 3};
  TestArray words(2, {nullptr, offsets.data(), "abb"});
  const std::array<int8_t, 3> numbers = {1, 0, -5};
  const uint8_t valid = 0b011;
  TestArray array(3, {&valid, numbers.data()});
  array.array.dictionary = &words.array;
  const Leaf leaf = LeafOf(core::DType::kString,
                           {{.layout = Layout::kDictionary, .width = 1}, kUtf8});
  const auto imported = ImportAs(array, leaf);
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(TextsOf(imported->column), ElementsAre("bb", "a", ""));
  array.buffers[0] = nullptr;
  EXPECT_THAT(ImportAs(array, leaf),
              StatusIs(kDataLoss, HasSubstr("that its dictionary has not")));
}

TEST(ImportTest, WhatDoesNotFitTogetherIsRefused) {
  const std::array<int32_t, 3> falling = {0, 5, 2};
  const std::array<int32_t, 3> negative = {-4, 0, 2};
  const std::array<int32_t, 3> outside = {0, 1, 9};
  const std::array<int32_t, 2> numbers = {1, 2};
  TestArray child(2, {nullptr, numbers.data()});
  const Leaf list = LeafOf(core::DType::kInt32, {kList32, kInt32});
  const Leaf text = LeafOf(core::DType::kString, {kUtf8});
  for (const auto* offsets : {&falling, &negative, &outside}) {
    EXPECT_THAT(
        ImportAs(TestArray(2, {nullptr, offsets->data()}, {&child.array}), list),
        StatusIs(kDataLoss));
  }
  for (const auto* offsets : {&falling, &negative}) {
    EXPECT_THAT(ImportAs(TestArray(2, {nullptr, offsets->data(), "ab"}), text),
                StatusIs(kDataLoss));
  }
  EXPECT_THAT(ImportAs(TestArray(2, {nullptr, nullptr, "ab"}), text),
              StatusIs(kDataLoss, HasSubstr("no offsets")));
  EXPECT_THAT(ImportAs(TestArray(2, {nullptr, outside.data()}), text),
              StatusIs(kDataLoss, HasSubstr("too few buffers")));
  EXPECT_THAT(ImportAs(TestArray(2, {nullptr, outside.data()}), list),
              StatusIs(kDataLoss, HasSubstr("too few children")));
  EXPECT_THAT(ImportAs(TestArray(-1, {nullptr, outside.data()}), list),
              StatusIs(kDataLoss, HasSubstr("fewer values")));
  const Leaf pairs =
      LeafOf(core::DType::kInt32, {{.layout = Layout::kFixedList, .width = 2}, kInt32});
  EXPECT_THAT(ImportAs(TestArray(2, {nullptr}, {&child.array}), pairs),
              StatusIs(kDataLoss, HasSubstr("fewer values")));
  EXPECT_THAT(ImportAs(TestArray(int64_t{1} << 47, {nullptr}, {&child.array}), pairs),
              StatusIs(kDataLoss, HasSubstr("fewer values")));
}

TEST(ImportTest, BuffersThatAreMissingAreNamed) {
  const std::vector<Step> layouts = {
      kInt32, {.layout = Layout::kBits}, {.layout = Layout::kFixedTexts, .width = 3}};
  for (const Step& step : layouts) {
    const core::DType dtype = step.layout == Layout::kBits    ? core::DType::kBool
                              : step.layout == Layout::kFixed ? core::DType::kInt32
                                                              : core::DType::kBytes;
    EXPECT_THAT(ImportAs(TestArray(1, {nullptr, nullptr}), LeafOf(dtype, {step})),
                StatusIs(kDataLoss, HasSubstr("it has no values")));
    EXPECT_THAT(ImportAs(TestArray(0, {nullptr, nullptr}), LeafOf(dtype, {step})),
                base::IsOk());
  }
  const std::array<int32_t, 3> offsets = {0, 1, 2};
  EXPECT_THAT(ImportAs(TestArray(2, {nullptr, offsets.data(), nullptr}),
                       LeafOf(core::DType::kString, {kUtf8})),
              StatusIs(kDataLoss, HasSubstr("it has no bytes")));
  EXPECT_THAT(ImportAs(TestArray(2, {nullptr, offsets.data()}, {nullptr}),
                       LeafOf(core::DType::kInt32, {kList32, kInt32})),
              StatusIs(kDataLoss, HasSubstr("too few children")));
  TestArray numbers(2, {nullptr, nullptr});
  TestArray words(0, {nullptr, nullptr, nullptr});
  const Leaf leaf = LeafOf(core::DType::kString,
                           {{.layout = Layout::kDictionary, .width = 4}, kUtf8});
  EXPECT_THAT(ImportAs(numbers, leaf),
              StatusIs(kDataLoss, HasSubstr("it has no values")));
  numbers.buffers[1] = offsets.data();
  EXPECT_THAT(ImportAs(numbers, leaf),
              StatusIs(kDataLoss, HasSubstr("it has no dictionary")));
  numbers.array.dictionary = &words.array;
  EXPECT_THAT(ImportAs(numbers, leaf),
              StatusIs(kDataLoss, HasSubstr("that its dictionary has not")));
}

TEST(ImportTest, AbsurdNumbersAreRefusedBeforeThereIsRoomForThem) {
  const uint8_t valid = 0;
  const std::array<int32_t, 2> numbers = {1, 2};
  TestArray child(2, {nullptr, numbers.data()});
  const Leaf wide =
      LeafOf(core::DType::kInt32,
             {{.layout = Layout::kFixedList, .width = int64_t{1} << 30}, kInt32});
  EXPECT_THAT(ImportAs(TestArray(8, {&valid}, {&child.array}), wide),
              StatusIs(kDataLoss, HasSubstr("fewer values than its parent says")));
  const Leaf texts =
      LeafOf(core::DType::kBytes,
             {{.layout = Layout::kFixedTexts, .width = int64_t{1} << 30}});
  TestArray far(1, {nullptr, numbers.data()});
  far.array.offset = int64_t{1} << 40;
  EXPECT_THAT(ImportAs(far, texts),
              StatusIs(kDataLoss, HasSubstr("more values than there can be")));
  const Leaf plain = LeafOf(core::DType::kInt32, {kInt32});
  for (const int64_t absurd : {int64_t{-1}, std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max()}) {
    TestArray array(2, {nullptr, numbers.data()});
    array.array.offset = absurd;
    EXPECT_THAT(ImportAs(array, plain), StatusIs(kDataLoss)) << absurd;
    array.array.offset = 0;
    array.array.length = absurd;
    EXPECT_THAT(ImportAs(array, plain), StatusIs(kDataLoss)) << absurd;
  }
}

TEST(ImportTest, AStructsNullsAreItsFields) {
  const std::array<int32_t, 4> numbers = {1, 2, 3, 4};
  const uint8_t inner = 0b1101;
  const uint8_t outer = 0b110;
  TestArray child(4, {&inner, numbers.data()});
  TestArray array(3, {&outer}, {nullptr, &child.array});
  array.array.offset = 1;
  const Leaf leaf =
      LeafOf(core::DType::kInt32, {{.layout = Layout::kStruct, .child = 1}, kInt32});
  const auto imported = ImportAs(array, leaf);
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(imported->nulls, ElementsAre(1, 0, 1));
  EXPECT_THAT(imported->column.As<int32_t>(), ElementsAre(0, 3, 0));
}

TEST(ImportTest, AFixedListHasItsNullsPerRow) {
  const std::array<int32_t, 6> numbers = {1, 2, 3, 4, 5, 6};
  const uint8_t inner = 0b110111;
  const uint8_t outer = 0b110;
  TestArray child(6, {&inner, numbers.data()});
  const auto imported =
      ImportAs(TestArray(3, {&outer}, {&child.array}),
               LeafOf(core::DType::kInt32,
                      {{.layout = Layout::kFixedList, .width = 2}, kInt32}));
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(imported->nulls, ElementsAre(1, 1, 0));
  EXPECT_THAT(imported->column.As<int32_t>(), ElementsAre(0, 0, 3, 0, 5, 6));
  EXPECT_EQ(*imported->column.row_shape(), core::Shape({2}));
}

TEST(ImportTest, NumbersOfADictionaryMayHaveNoSign) {
  const std::array<int32_t, 3> offsets = {0, 1, 3};
  TestArray words(2, {nullptr, offsets.data(), "abb"});
  const std::array<uint64_t, 2> numbers = {1, uint64_t{1} << 63};
  TestArray array(1, {nullptr, numbers.data()});
  array.array.dictionary = &words.array;
  const Leaf leaf =
      LeafOf(core::DType::kString,
             {{.layout = Layout::kDictionary, .width = 8, .is_signed = false}, kUtf8});
  const auto imported = ImportAs(array, leaf);
  ASSERT_THAT(imported, base::IsOk());
  EXPECT_THAT(TextsOf(imported->column), ElementsAre("bb"));
  array.array.offset = 1;
  EXPECT_THAT(ImportAs(array, leaf),
              StatusIs(kDataLoss, HasSubstr("that its dictionary has not")));
}

TEST(ImportTest, NoRowsAreNoRows) {
  const auto texts = ImportAs(TestArray(0, {nullptr, nullptr, nullptr}),
                              LeafOf(core::DType::kString, {kUtf8}));
  ASSERT_THAT(texts, base::IsOk());
  EXPECT_EQ(texts->column.rows(), 0);
  const auto numbers =
      ImportAs(TestArray(0, {nullptr, nullptr}), LeafOf(core::DType::kInt32, {kInt32}));
  ASSERT_THAT(numbers, base::IsOk());
  EXPECT_EQ(numbers->column.rows(), 0);
}

}  // namespace
}  // namespace millrace::arrow
