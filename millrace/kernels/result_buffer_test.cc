#include "millrace/kernels/result_buffer.h"

#include <cstdint>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/buffer.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::kernels {
namespace {

absl::StatusOr<core::Buffer> BufferFor(const ir::ValueType& type, int64_t rows,
                                       const core::Buffer* into = nullptr) {
  const ir::Arguments none;
  return ResultBuffer({.rows = rows,
                       .operands = {},
                       .operand_types = {},
                       .type = type,
                       .arguments = none,
                       .draws = nullptr,
                       .pool = core::HeapPool(),
                       .into = into});
}

TEST(ResultBufferTest, HoldsTheRowsOfTheInferredType) {
  const auto buffer = BufferFor({.dtype = core::DType::kInt32, .shape = {2, 3}}, 5);
  ASSERT_THAT(buffer, base::IsOk());
  EXPECT_EQ(buffer->size(), 5 * 2 * 3 * 4);
}

TEST(ResultBufferTest, IsTheCallersWhereOneIsGiven) {
  const core::Buffer batch = *core::HeapPool().Allocate(100);
  const core::Buffer into = batch.Slice(20, 10);
  const auto buffer = BufferFor({.dtype = core::DType::kUint8, .shape = {5}}, 2, &into);
  ASSERT_THAT(buffer, base::IsOk());
  EXPECT_EQ(buffer->data(), batch.data() + 20);
  EXPECT_EQ(buffer->size(), 10);
}

TEST(ResultBufferTest, RefusesWhatHasNoSizeYet) {
  const core::Shape unknown = {core::kUnknownSize};
  EXPECT_DEATH((void)BufferFor({.dtype = core::DType::kUint8, .shape = unknown}, 1),
               "IsKnown");
  EXPECT_DEATH((void)BufferFor({.dtype = core::DType::kString, .shape = {}}, 1),
               "IsVariable");
}

TEST(ResultBufferTest, GivesAnErrorWhenTheProductIsAbsurd) {
  const core::Shape large = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_FALSE(BufferFor({.dtype = core::DType::kUint8, .shape = large}, 1).ok());
}

}  // namespace
}  // namespace millrace::kernels
