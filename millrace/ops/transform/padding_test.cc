#include "millrace/ops/transform/padding.h"

#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ops/transform/rows_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::StatusIs;
using core::DType;
using core::kUnknownSize;
using testing::ElementsAre;
using testing::HasSubstr;

core::Spec ListSpec(int64_t size = kUnknownSize) {
  return core::Spec({{"x", DType::kInt64, {size}}});
}

std::string PaddedLists(const Lists& lists, const PadRule& rule) {
  return ShownRows({*Padded(ListBlock(lists), rule, ListSpec(), core::HeapPool())});
}

TEST(PaddingTest, RowsBecomeAsLongAsTheLongest) {
  EXPECT_EQ(PaddedLists({{1}, {}, {2, 3}}, {.value = 7}),
            "int64[2] [1, 7]; int64[2] [7, 7]; int64[2] [2, 3]");
}

TEST(PaddingTest, SizesCanBeRounded) {
  EXPECT_EQ(PaddedLists({{1}, {2, 3, 4}}, {.to_multiple_of = 2}),
            "int64[4] [1, 0, 0, 0]; int64[4] [2, 3, 4, 0]");
}

TEST(PaddingTest, TheFirstAxisCanHaveALeastLength) {
  EXPECT_EQ(PaddedLists({{1}}, {.leading_at_least = 3}), "int64[3] [1, 0, 0]");
  EXPECT_EQ(PaddedLists({{1, 2}}, {.leading_at_least = 1}), "int64[2] [1, 2]");
}

// A row of a shape, with the numbers from 1 on.
core::Tensor Counted(const core::Shape& shape) {
  core::Buffer values = *core::HeapPool().Allocate(shape.Count());
  const auto bytes = values.MutableAs<uint8_t>();
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  return core::Tensor::Fixed(DType::kUint8, shape, std::move(values));
}

// The bytes of rows of these shapes, padded with nines.
std::vector<int> PaddedBytes(const std::vector<core::Shape>& shapes) {
  core::Tensors rows;
  for (const core::Shape& shape : shapes) rows.push_back(Counted(shape));
  const int64_t count = std::ssize(rows);
  const core::Block block(count, {"x"},
                          {core::Column::OfTensors(DType::kUint8, std::move(rows))});
  const core::Shape unknown = {kUnknownSize, kUnknownSize, kUnknownSize};
  const core::Spec spec({{"x", DType::kUint8, unknown}});
  const core::Block padded = *Padded(block, {.value = 9}, spec, core::HeapPool());
  const auto bytes = padded.columns()[0].values().As<uint8_t>();
  return {bytes.begin(), bytes.end()};
}

TEST(PaddingTest, PicturesKeepTheirColoursTogether) {
  EXPECT_THAT(PaddedBytes({{2, 1, 3}, {1, 2, 3}}),
              ElementsAre(1, 2, 3, 9, 9, 9, 4, 5, 6, 9, 9, 9,    //
                          1, 2, 3, 4, 5, 6, 9, 9, 9, 9, 9, 9));  //
}

TEST(PaddingTest, EveryAxisIsPaddedByItself) {
  EXPECT_THAT(PaddedBytes({{2, 1, 2}, {1, 2, 1}, {0, 2, 2}}),
              ElementsAre(1, 2, 9, 9, 3, 4, 9, 9,    //
                          1, 9, 2, 9, 9, 9, 9, 9,    //
                          9, 9, 9, 9, 9, 9, 9, 9));  //
}

TEST(PaddingTest, WhatTheSpecKnowsStays) {
  const core::Block rows = ListBlock({{1, 2}, {3, 4}});
  const PadRule rule = {.to_multiple_of = 8, .leading_at_least = 5};
  EXPECT_TRUE(core::SameRows(*Padded(rows, rule, ListSpec(2), core::HeapPool()), rows));
}

TEST(PaddingTest, IdentitiesStay) {
  const core::Block rows = ListBlock({{1}, {2, 3}}, 40);
  const core::Block padded = *Padded(rows, {}, ListSpec(), core::HeapPool());
  EXPECT_EQ(padded.IdAt(1), rows.IdAt(1));
}

TEST(PaddingTest, ATypeHoldsWhatItCanStoreAsItIs) {
  EXPECT_TRUE(CanHold(DType::kUint8, 255));
  EXPECT_FALSE(CanHold(DType::kUint8, 256));
  EXPECT_FALSE(CanHold(DType::kUint8, -1));
  EXPECT_FALSE(CanHold(DType::kInt64, 0.5));
  EXPECT_FALSE(CanHold(DType::kInt64, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(CanHold(DType::kInt64, -9223372036854775808.0));
  EXPECT_FALSE(CanHold(DType::kInt64, 9223372036854775808.0));
  EXPECT_TRUE(CanHold(DType::kBool, 1));
  EXPECT_FALSE(CanHold(DType::kBool, 2));
  EXPECT_TRUE(CanHold(DType::kFloat32, 0.1));
}

TEST(PaddingTest, FillsWithOneNumber) {
  const core::Buffer filled = *Filled(DType::kFloat32, {3}, -0.5, core::HeapPool());
  EXPECT_THAT(filled.As<float>(), ElementsAre(-0.5F, -0.5F, -0.5F));
}

TEST(PaddingTest, OnlyFieldsThatMayBePaddedMustHoldTheValue) {
  const core::Spec rows({{"known", DType::kUint8, {4}},
                         {"text", DType::kString, {}},
                         {"ragged", DType::kInt16, {kUnknownSize}}});
  EXPECT_THAT(CheckPadValue(-1, rows), IsOk());
  EXPECT_THAT(CheckPadValue(1e6, rows),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("which field ragged of int16 cannot hold")));
}

TEST(PaddingTest, AnAbsurdSizeIsAnError) {
  EXPECT_FALSE(Padded(ListBlock({{1}}),
                      {.leading_at_least = std::numeric_limits<int64_t>::max() / 2},
                      ListSpec(), core::HeapPool())
                   .ok());
}

}  // namespace
}  // namespace millrace::ops
