#include "millrace/kernels/result_rows.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

// Rows of the shapes that `length` gives, filled with the number of the row.
template <typename Length>
absl::StatusOr<core::Column> Fill(const core::Shape& inferred, Length length,
                                  const core::Buffer* into = nullptr) {
  const ir::ValueType type = {.dtype = core::DType::kInt32, .shape = inferred};
  const ir::Arguments none;
  const ir::KernelCall call = {.rows = 3,
                               .operands = {},
                               .operand_types = {},
                               .type = type,
                               .arguments = none,
                               .draws = nullptr,
                               .pool = core::HeapPool(),
                               .into = into};
  return WriteRows(call, [&](int64_t row, ResultRows& out) -> absl::Status {
    const int64_t count = length(row);
    if (count < 0) return absl::InvalidArgumentError("less than nothing");
    auto* place = TRY(out.TakeAs<int32_t>({count}));
    for (int64_t i = 0; i < count; ++i) place[i] = static_cast<int32_t>(row);
    return absl::OkStatus();
  });
}

TEST(ResultRowsTest, IsDenseWhereTheShapeIsKnown) {
  const absl::StatusOr<core::Column> column = Fill({2}, [](int64_t) { return 2; });
  ASSERT_THAT(column, base::IsOk());
  EXPECT_TRUE(column->IsDense());
  EXPECT_THAT(column->As<int32_t>(), testing::ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(ResultRowsTest, IsATensorPerRowWhereItIsNot) {
  const absl::StatusOr<core::Column> column =
      Fill({core::kUnknownSize}, [](int64_t row) { return row; });
  EXPECT_EQ(Shown(column), "int32[0] []; int32[1] [1]; int32[2] [2, 2]");
  EXPECT_TRUE(column->HoldsTensors());
}

TEST(ResultRowsTest, WritesWhereTheCallerWantsIt) {
  const core::Buffer into = *core::HeapPool().AllocateFor<int32_t>(6);
  const absl::StatusOr<core::Column> column =
      Fill({2}, [](int64_t) { return 2; }, &into);
  ASSERT_THAT(column, base::IsOk());
  EXPECT_EQ(column->values().data(), into.data());
  EXPECT_THAT(into.As<int32_t>(), testing::ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(ResultRowsTest, NamesTheRowThatFails) {
  const absl::StatusOr<core::Column> column =
      Fill({core::kUnknownSize}, [](int64_t row) { return 1 - row; });
  EXPECT_EQ(column.status().ToString(), "DATA_LOSS: row 2: less than nothing");
}

TEST(ResultRowsTest, RefusesAShapeThatWasNotInferred) {
  EXPECT_DEATH((void)Fill({2}, [](int64_t) { return 3; }), "is not");
}

TEST(ResultRowsTest, RefusesAPlaceOfAnotherSize) {
  const core::Buffer into = *core::HeapPool().AllocateFor<int32_t>(5);
  EXPECT_DEATH((void)Fill({2}, [](int64_t) { return 2; }, &into), "size");
}

}  // namespace
}  // namespace millrace::kernels
