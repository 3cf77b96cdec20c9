#include "millrace/plugin/rows_writer.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/ir/type.h"
#include "millrace/plugin/millrace_plugin.h"

namespace millrace::plugin {
namespace {

TEST(RowsWriterTest, WritesWhereRowsAreWanted) {
  core::Buffer into = *core::HeapPool().AllocateFor<int32_t>(4);
  const ir::ValueType type = {.dtype = core::DType::kInt32, .shape = {2}};
  auto writer = *RowsWriter::Open(type, 2, core::HeapPool(), &into);
  const int64_t two = 2;
  for (const int32_t number : {5, 7}) {
    MillraceRoom room = {};
    room.rank = 1;
    room.sizes = &two;
    ASSERT_THAT(writer.Allocate(room), base::IsOk());
    EXPECT_EQ(room.offsets, nullptr);
    const std::vector<int32_t> pair = {number, -number};
    std::memcpy(room.data, pair.data(), 8);
  }
  const auto column = std::move(writer).ToColumn();
  ASSERT_THAT(column, base::IsOk());
  EXPECT_EQ(column->values().data(), into.data());
  EXPECT_EQ(column->As<int32_t>(), (std::vector<int32_t>{5, -5, 7, -7}));
}

TEST(RowsWriterTest, MemoryBeginsAtAMultipleOf64Bytes) {
  const ir::ValueType type = {.dtype = core::DType::kUint8, .shape = {-1}};
  auto writer = *RowsWriter::Open(type, 3, core::HeapPool());
  for (const int64_t size : {3, 1, 100}) {
    MillraceRoom room = {};
    room.rank = 1;
    room.sizes = &size;
    ASSERT_THAT(writer.Allocate(room), base::IsOk());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(room.data) % 64, 0U);
    std::memset(room.data, 1, size);
  }
  const auto column = std::move(writer).ToColumn();
  ASSERT_THAT(column, base::IsOk());
  EXPECT_EQ(column->Row(2)->shape(), core::Shape({100}));
}

TEST(RowsWriterTest, NoRowsAreAColumnToo) {
  for (const core::Shape& shape : {core::Shape(), core::Shape({-1})}) {
    for (const core::DType dtype : {core::DType::kString, core::DType::kInt8}) {
      auto writer =
          *RowsWriter::Open({.dtype = dtype, .shape = shape}, 0, core::HeapPool());
      const auto column = std::move(writer).ToColumn();
      ASSERT_THAT(column, base::IsOk());
      EXPECT_EQ(column->rows(), 0);
    }
  }
}

}  // namespace
}  // namespace millrace::plugin
