#include "millrace/kernels/elementwise.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/loops.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {
namespace {

using base::StatusIs;
using core::Column;
using core::DType;
using core::Tensor;

// Runs a loop on operands that are brought to float32, as a kernel would.
absl::StatusOr<Column> RunAsFloats(const std::vector<ir::Operand>& operands, Loop loop,
                                   std::string_view failure = {},
                                   const core::Buffer* into = nullptr) {
  const ir::ValueType type = {.dtype = DType::kFloat32, .shape = {}};
  const std::vector<ir::ValueType> types(operands.size(), type);
  const std::vector<DType> dtypes(operands.size(), DType::kFloat32);
  const ir::Arguments arguments;
  return Elementwise({.rows = operands[0].column.rows(),
                      .operands = operands,
                      .operand_types = types,
                      .type = type,
                      .arguments = arguments,
                      .draws = nullptr,
                      .pool = core::HeapPool(),
                      .into = into},
                     dtypes, loop, failure);
}

int64_t AddFloats(absl::Span<const Values> operands, int64_t count, ValueWriter& out) {
  return BinaryLoop<float, float, float>(operands, count, out,
                                         [](float a, float b) { return a + b; });
}

TEST(ElementwiseTest, BringsOperandsToTheTypeOfTheLoop) {
  EXPECT_EQ(Shown(RunAsFloats({{.column = ScalarRows<uint8_t>({255, 1})},
                               {.column = ScalarRows<double>({0.5, 0.25})}},
                              AddFloats)),
            "float32 255.5; float32 1.25");
}

TEST(ElementwiseTest, BringsEveryTypeToTheTypeOfTheLoop) {
  for (const DType dtype : core::kAllDTypes) {
    if (core::IsVariable(dtype)) continue;
    const Column ones = core::VisitDType(dtype, []<typename T>() {
      return ScalarRows<T>({static_cast<T>(1.0F), static_cast<T>(0.0F)});
    });
    const Column halves = ScalarRows<float>({0.5F, 0.5F});
    EXPECT_EQ(Shown(RunAsFloats({{.column = ones}, {.column = halves}}, AddFloats)),
              "float32 1.5; float32 0.5")
        << dtype;
  }
}

TEST(ElementwiseTest, BringsConstantsToTheTypeOfTheLoopOnce) {
  const ir::Operand two = Weak<int64_t>(2).operand;
  EXPECT_EQ(
      Shown(RunAsFloats({{.column = ScalarRows<int8_t>({1, -1})}, two}, AddFloats)),
      "float32 3.0; float32 1.0");
}

TEST(ElementwiseTest, LeavesTextsAsTheyAre) {
  const std::vector<ir::Operand> operands = {{.column = TextRows({"a", "bcd"})}};
  const ir::ValueType type = {.dtype = DType::kInt8, .shape = {}};
  const std::vector<ir::ValueType> types = {type};
  const ir::Arguments arguments;
  const auto loop = [](absl::Span<const Values> in, int64_t count, ValueWriter& out) {
    auto* const result = out.Take<int8_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      result[i] = static_cast<int8_t>(in[0].TextAt(i).size());
    }
    return count;
  };
  EXPECT_EQ(Shown(Elementwise({.rows = 2,
                               .operands = operands,
                               .operand_types = types,
                               .type = type,
                               .arguments = arguments,
                               .draws = nullptr,
                               .pool = core::HeapPool()},
                              std::array{DType::kBytes}, loop)),
            "int8 1; int8 3");
}

TEST(ElementwiseTest, WritesWhereTheCallerWantsIt) {
  const core::Buffer into = *core::HeapPool().AllocateFor<float>(2);
  const Column rows = ScalarRows<float>({1, 2});
  const absl::StatusOr<Column> sums =
      RunAsFloats({{.column = rows}, {.column = rows}}, AddFloats, {}, &into);
  ASSERT_THAT(sums, base::IsOk());
  EXPECT_EQ(sums->values().data(), into.data());
  EXPECT_THAT(into.As<float>(), testing::ElementsAre(2, 4));
}

// Rows of which no shape was known beforehand, one by one.
TEST(ElementwiseTest, WritesTensorsWhereTheCallerWantsThem) {
  const core::Buffer into = *core::HeapPool().AllocateFor<float>(4);
  const auto tensors = [](const std::vector<core::Shape>& shapes) {
    core::Tensors rows;
    for (const core::Shape& shape : shapes) {
      rows.push_back(Tensor::FromValues<float>({1, 2}, shape));
    }
    return Column::OfTensors(DType::kFloat32, std::move(rows));
  };
  const auto doubled = [&](const Column& rows, const core::Buffer& place) {
    return *RunAsFloats({{.column = rows}, {.column = rows}}, AddFloats, {}, &place);
  };
  const Column fit = doubled(tensors({{2}, {2}}), into);
  EXPECT_EQ(fit.values().data(), into.data());
  EXPECT_THAT(fit.As<float>(), testing::ElementsAre(2, 4, 2, 4));
  const Column shapes = doubled(tensors({{2}, {1, 2}}), into);
  EXPECT_EQ(Shown(shapes), "float32[2] [2.0, 4.0]; float32[1, 2] [2.0, 4.0]");
  const Column guessed_wrong = doubled(tensors({{2}}), into);
  EXPECT_NE(guessed_wrong.values().data(), into.data());
}

TEST(ElementwiseTest, SaysWhatIsWrongWithARow) {
  const auto positive = [](absl::Span<const Values> in, int64_t count,
                           ValueWriter& out) {
    return CheckedBinaryLoop<float>(
        in, count, out, [](float a, float) { return a > 0; },
        [](float a, float b) { return a / b; });
  };
  const Column rows = ScalarRows<float>({1, 2, -1, -2});
  EXPECT_THAT(
      RunAsFloats({{.column = rows}, {.column = rows}}, positive, "not above 0"),
      StatusIs(absl::StatusCode::kDataLoss, "row 2: not above 0"));
}

}  // namespace
}  // namespace millrace::kernels
