#include "millrace/kernels/tiles.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/text.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/evaluate.h"

namespace millrace::kernels {
namespace {

using core::Block;
using core::Column;
using core::DType;
using core::HeapPool;
using core::kUnknownSize;
using core::Shape;

constexpr int64_t kRows = 3;
const Shape kLarge = {500, 201};

// Rows of large numbers a and b, small ones c, a scalar and a text.
core::Spec Input() {
  const Shape unknown = {kUnknownSize, kUnknownSize};
  return core::Spec({{"a", DType::kInt16, unknown},
                     {"b", DType::kFloat32, unknown},
                     {"c", DType::kFloat32, {2}},
                     {"n", DType::kInt64, {}},
                     {"t", DType::kString, {}}});
}

template <typename T>
Column Numbers(const Shape& shape, T first) {
  const int64_t count = shape.Count() * kRows;
  core::Buffer values = *HeapPool().AllocateFor<T>(count);
  std::iota(values.MutableAs<T>().begin(), values.MutableAs<T>().end(), first);
  return Column::Dense(core::kDTypeOf<T>, kRows, shape, std::move(values));
}

Block Rows() {
  return {kRows,
          {"a", "b", "c", "n", "t"},
          {Numbers<int16_t>(kLarge, -30'000), Numbers<float>(kLarge, -5.5F),
           Numbers<float>({2}, 1.0F), ScalarRows<int64_t>({1, 2, 3}),
           TextRows({"x", "y", "z"})}};
}

ir::Expression Read(const std::string& text) {
  absl::StatusOr<ir::Expression> expression =
      ir::ParseExpression(text, Input(), AllKernels());
  CHECK(expression.ok()) << expression.status();
  return *std::move(expression);
}

// The values of x, of one row after the other and few at a time, so that no tiles are
// made of them.
std::vector<Column> FewAtATime(const ir::Expression& expression) {
  const Block rows = Rows();
  const int64_t count = kRows * kLarge.Count();
  const auto flat = [&](const char* name) {
    const Column& column = *rows.Find(name);
    return Column::Dense(column.dtype(), count, {}, column.values());
  };
  const Block values(count, {"a", "b"}, {flat("a"), flat("b")});
  std::vector<Column> found;
  for (int64_t begin = 0; begin < count; begin += 1000) {
    const Block some = values.Slice(begin, std::min<int64_t>(1000, count - begin));
    found.push_back(Evaluate(expression, some, {}, HeapPool())->at(0));
  }
  return found;
}

TEST(TilesTest, GiveWhatAllAtOnceGives) {
  for (const char* text :
       {"{x: cast(.a, dtype=\"float32\") * 0.001f32}",
        "{x: cast(.b * .b - 3.0, dtype=\"int64\") + .a}",
        "{x: where(.a > 0 and .b < 1000.0, .a, .a * -1)}",
        "{x: clip(tanh(.b / 7.0), -0.5, 0.5)}", "{x: floor(power(.b, 2.0)) % 5.0}"}) {
    SCOPED_TRACE(text);
    const ir::Expression expression = Read(text);
    ASSERT_TRUE(Flatten(expression, Rows()).has_value());
    const Column tiled = Evaluate(expression, Rows(), {}, HeapPool())->at(0);
    EXPECT_EQ(tiled.row_shape(), kLarge);
    int64_t place = 0;
    for (const Column& few : FewAtATime(expression)) {
      const core::Buffer expected = few.values();
      EXPECT_EQ(tiled.values().Slice(place, expected.size()).text(), expected.text());
      place += expected.size();
    }
    EXPECT_EQ(place, tiled.values().size());
  }
}

TEST(TilesTest, WriteWhereTheCallerWantsItAndPassOtherFieldsOn) {
  const ir::Expression expression = Read("{x: (.b + 1.0) * 2.0, n: .n, b: .b, t: .t}");
  const core::Buffer into = *HeapPool().AllocateFor<float>(kRows * kLarge.Count());
  const Block rows = Rows();
  const std::vector<Column> made =
      *Evaluate(expression, rows, {}, HeapPool(), {{into, {}, {}, {}}});
  EXPECT_EQ(made[0].values().data(), into.data());
  EXPECT_EQ(made[0].As<float>()[0], -9.0F);
  EXPECT_EQ(Shown(made[1]), "int64 1; int64 2; int64 3");
  EXPECT_EQ(made[2].values().data(), rows.Find("b")->values().data());
  EXPECT_EQ(Shown(made[3]), "string \"x\"; string \"y\"; string \"z\"");
}

TEST(TilesTest, WhatLiesBetweenTwoTermsTakesLittleMemory) {
  const ir::Expression expression = Read("{x: ((.b + 1.0) * 2.0 - 3.0) / 4.0}");
  const Block rows = Rows();
  core::Pool pool(core::MakeHeapAllocator(), {});
  const int64_t bytes = Evaluate(expression, rows, {}, pool)->at(0).values().size();
  EXPECT_LT(pool.stats().peak_bytes, bytes * 2) << "not a second term's";
}

TEST(TilesTest, TheRowThatFailsIsNamed) {
  const ir::Expression expression =
      Read("{x: 1 // (cast(.b, dtype=\"int64\") - 150000)}");
  ASSERT_TRUE(Flatten(expression, Rows()).has_value());
  EXPECT_THAT(Evaluate(expression, Rows(), {}, HeapPool()).status().message(),
              testing::HasSubstr("row 1"));
}

TEST(TilesTest, AreNotMadeOfWhatLooksFurther) {
  for (const char* text : {"{x: .b * 2.0}",                // One step.
                           "{x: .c * 2.0 + 1.0}",          // Small.
                           "{x: .b * 2.0 + .n}",           // Of several shapes.
                           "{x: (.b + 1.0) * 2.0, y: 7}",  // A constant beside it.
                           "{x: sum(.b * 2.0)}"}) {
    EXPECT_FALSE(Flatten(Read(text), Rows()).has_value()) << text;
  }
}

}  // namespace
}  // namespace millrace::kernels
