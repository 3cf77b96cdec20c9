#include "millrace/kernels/loops.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using core::DType;
using core::Tensor;
using testing::ElementsAre;

template <typename T>
Values At(const std::vector<T>& values, int64_t step) {
  return {.data = reinterpret_cast<const std::byte*>(values.data()),
          .value_bytes = sizeof(T),
          .step = step};
}

constexpr auto kMinus = [](auto a, auto b) { return a - b; };

std::vector<int32_t> Subtract(const Values& a, const Values& b, int64_t count) {
  ValueWriter out = *ValueWriter::Open(DType::kInt32, count, core::HeapPool());
  const std::vector<Values> operands = {a, b};
  EXPECT_EQ((BinaryLoop<int32_t, int32_t, int32_t>(operands, count, out, kMinus)),
            count);
  const Tensor result = *std::move(out).ToTensor({count});
  return {result.As<int32_t>().begin(), result.As<int32_t>().end()};
}

TEST(LoopsTest, TakesOperandsAtAnySteps) {
  const std::vector<int32_t> a = {10, 20, 30, 40, 50};
  const std::vector<int32_t> b = {1, 2, 3, 4, 5};
  EXPECT_THAT(Subtract(At(a, 1), At(b, 1), 3), ElementsAre(9, 18, 27));
  EXPECT_THAT(Subtract(At(a, 1), At(b, 0), 3), ElementsAre(9, 19, 29));
  EXPECT_THAT(Subtract(At(a, 0), At(b, 1), 3), ElementsAre(9, 8, 7));
  EXPECT_THAT(Subtract(At(a, 0), At(b, 0), 2), ElementsAre(9, 9));
  EXPECT_THAT(Subtract(At(a, 2), At(b, 1), 3), ElementsAre(9, 28, 47));
  EXPECT_THAT(Subtract(At(a, 2), At(b, 2), 3), ElementsAre(9, 27, 45));
  EXPECT_THAT(Subtract(At(a, 1), At(b, 1).From(4), 1), ElementsAre(5));
}

TEST(LoopsTest, TakesOneOperandAtAnyStep) {
  const std::vector<int16_t> a = {1, 2, 3, 4};
  for (const int64_t step : {0, 1, 3}) {
    const std::vector<Values> operands = {At(a, step)};
    ValueWriter out = *ValueWriter::Open(DType::kFloat64, 2, core::HeapPool());
    const auto half = [](int16_t value) { return value / 2.0; };
    EXPECT_EQ((UnaryLoop<int16_t, double>(operands, 2, out, half)), 2);
    const Tensor result = *std::move(out).ToTensor({2});
    EXPECT_THAT(result.As<double>(),
                ElementsAre(0.5, static_cast<double>(1 + step) / 2));
  }
}

TEST(LoopsTest, ComputesHalvesInFloat) {
  static_assert(std::is_same_v<Computed<core::Float16>, float>);
  static_assert(std::is_same_v<Computed<core::BFloat16>, float>);
  static_assert(std::is_same_v<Computed<int8_t>, int8_t>);
  const std::vector<core::Float16> a = {core::Float16(1.0F), core::Float16(0.5F)};
  const std::vector<Values> operands = {At(a, 1), At(a, 0)};
  ValueWriter out = *ValueWriter::Open(DType::kFloat16, 2, core::HeapPool());
  BinaryLoop<core::Float16, core::Float16, core::Float16>(operands, 2, out, kMinus);
  EXPECT_EQ(std::move(out).ToTensor({2})->ToString(), "float16[2] [0.0, -0.5]");
}

TEST(LoopsTest, StopsBeforeWhatIsNotAllowed) {
  const std::vector<int64_t> a = {10, 20, 30};
  const std::vector<int64_t> b = {1, 2, 0};
  const std::vector<Values> operands = {At(a, 1), At(b, 1)};
  const auto allowed = [](int64_t, int64_t divisor) { return divisor != 0; };
  const auto divide = [](int64_t x, int64_t y) { return x / y; };
  ValueWriter out = *ValueWriter::Open(DType::kInt64, 5, core::HeapPool());
  EXPECT_EQ(CheckedBinaryLoop<int64_t>(operands, 3, out, allowed, divide), 2);
  EXPECT_EQ(CheckedBinaryLoop<int64_t>(operands, 2, out, allowed, divide), 2);
}

TEST(LoopsTest, KnowsNanFromNumbers) {
  EXPECT_TRUE(IsNan(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_TRUE(IsNan(-std::nan("")));
  EXPECT_FALSE(IsNan(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(IsNan(int64_t{0}));
  EXPECT_FALSE(IsNan(true));
}

}  // namespace
}  // namespace millrace::kernels
