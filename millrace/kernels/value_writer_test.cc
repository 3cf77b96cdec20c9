#include "millrace/kernels/value_writer.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::kernels {
namespace {

using base::StatusIs;
using core::Column;
using core::DType;
using core::HeapPool;
using core::Tensor;
using testing::ElementsAre;

ValueWriter Open(DType dtype, int64_t count) {
  return *ValueWriter::Open(dtype, count, HeapPool());
}

TEST(ValueWriterTest, GivesNumbersAsATensor) {
  ValueWriter writer = Open(DType::kInt32, 4);
  auto* first = writer.Take<int32_t>(3);
  for (int32_t i = 0; i < 3; ++i) first[i] = i * 10;
  *writer.Take<int32_t>(1) = -1;
  const Tensor tensor = *std::move(writer).ToTensor({2, 2});
  EXPECT_EQ(tensor.shape(), core::Shape({2, 2}));
  EXPECT_THAT(tensor.As<int32_t>(), ElementsAre(0, 10, 20, -1));
}

TEST(ValueWriterTest, GivesNumbersAsRows) {
  ValueWriter writer = Open(DType::kFloat64, 4);
  auto* values = writer.Take<double>(4);
  for (int i = 0; i < 4; ++i) values[i] = i;
  const Column column = *std::move(writer).ToColumn(2, core::Shape{2});
  EXPECT_TRUE(column.IsDense());
  EXPECT_EQ(column.rows(), 2);
  EXPECT_THAT(column.Row(1)->As<double>(), ElementsAre(2, 3));
}

TEST(ValueWriterTest, LetsEqualSizesStandForOneAnother) {
  ValueWriter writer = Open(DType::kFloat32, 1);
  *writer.Take<uint32_t>(1) = 0x3f800000;  // The bits of 1.
  EXPECT_EQ(std::move(writer).ToTensor({})->ToString(), "float32 1.0");
}

TEST(ValueWriterTest, JoinsThePartsOfTexts) {
  ValueWriter writer = Open(DType::kString, 3);
  writer.AddPart("ab");
  writer.AddPart("c");
  writer.EndText();
  writer.EndText();
  writer.AddText("d");
  const Tensor tensor = *std::move(writer).ToTensor({3});
  EXPECT_EQ(tensor.ToString(), "string[3] [\"abc\", \"\", \"d\"]");
}

TEST(ValueWriterTest, GivesTextsAsRows) {
  ValueWriter writer = Open(DType::kBytes, 4);
  for (const char* text : {"a", "bb", "", "dddd"}) writer.AddText(text);
  const Column column = *std::move(writer).ToColumn(2, core::Shape{2});
  EXPECT_EQ(column.row_shape(), core::Shape({2}));
  EXPECT_EQ(column.Row(1)->ToString(), "bytes[2] [\"\", \"dddd\"]");
}

TEST(ValueWriterTest, PutsRaggedLevelsAboveTheValues) {
  ValueWriter offsets = Open(DType::kInt64, 3);
  auto* ends = offsets.Take<int64_t>(3);
  ends[0] = 0;
  ends[1] = 1;
  ends[2] = 3;
  core::Levels levels = {
      core::Level::Variable(std::move(offsets).ToTensor({3})->values())};
  ValueWriter writer = Open(DType::kUint8, 3);
  auto* values = writer.Take<uint8_t>(3);
  for (uint8_t i = 0; i < 3; ++i) values[i] = i;
  const Column column = *std::move(writer).ToColumn(2, std::move(levels));
  EXPECT_EQ(column.Row(0)->ToString(), "uint8[1] [0]");
  EXPECT_EQ(column.Row(1)->ToString(), "uint8[2] [1, 2]");
}

TEST(ValueWriterTest, HoldsNothingWhenNothingIsAsked) {
  EXPECT_EQ(Open(DType::kInt8, 0).ToTensor({0})->count(), 0);
  EXPECT_EQ(Open(DType::kString, 0).ToTensor({0})->count(), 0);
  EXPECT_EQ(Open(DType::kString, 0).ToColumn(0, core::Shape())->rows(), 0);
}

TEST(ValueWriterTest, PassesOnThatMemoryIsFull) {
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 1 << 12});
  EXPECT_THAT(ValueWriter::Open(DType::kInt64, 1 << 20, pool),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ValueWriter writer = *ValueWriter::Open(DType::kString, 1, pool);
  writer.AddText(std::string(1 << 20, 'x'));
  EXPECT_THAT(std::move(writer).ToTensor({}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(ValueWriterTest, WritesIntoMemoryThatIsThere) {
  const core::Buffer into = *HeapPool().AllocateFor<int32_t>(2);
  ValueWriter writer = ValueWriter::Into(DType::kInt32, into, HeapPool());
  auto* values = writer.Take<int32_t>(2);
  values[0] = 3;
  values[1] = 4;
  EXPECT_EQ(std::move(writer).ToTensor({2})->values().data(), into.data());
  EXPECT_THAT(into.As<int32_t>(), testing::ElementsAre(3, 4));
  EXPECT_DEATH(ValueWriter::Into(DType::kString, into, HeapPool()), "IsVariable");
}

TEST(ValueWriterTest, RefusesMoreThanThereIsRoomFor) {
  ValueWriter writer = Open(DType::kInt64, 2);
  writer.Take<int64_t>(2);
  EXPECT_DEATH(writer.Take<int64_t>(1), "bytes");
}

}  // namespace
}  // namespace millrace::kernels
