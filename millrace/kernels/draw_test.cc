#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Tensor;
using testing::HasSubstr;

constexpr int64_t kDraws = 20'000;

// Draws for some rows.
absl::StatusOr<Column> Draw(const std::string& kernel, const std::vector<Input>& inputs,
                            const ir::Arguments& arguments = {}, int64_t rows = 1) {
  std::vector<core::RowId> ids;
  ids.reserve(rows);
  for (int64_t row = 0; row < rows; ++row)
    ids.push_back({7, static_cast<uint64_t>(row)});
  const core::Block block = core::Block(rows, core::FieldNames{}, {})
                                .WithIds(*core::IdColumn(ids, core::HeapPool()));
  const ir::Draws draws = {.key = base::RandomKey(1, 2, 3), .rows = &block};
  return CallKernel(kernel, inputs, arguments, &draws);
}

const ir::Arguments kMany = {{"shape", ir::List{kDraws}}};

TEST(DrawTest, DrawsBoolsWithAChance) {
  const absl::StatusOr<Column> drawn = Draw("bernoulli", {Weak(0.25)}, kMany);
  ASSERT_THAT(drawn, base::IsOk());
  const absl::Span<const bool> values = drawn->As<bool>();
  EXPECT_NEAR(std::ranges::count(values, true), kDraws * 0.25, 300);
  EXPECT_EQ(std::ranges::count(Draw("bernoulli", {Weak(0.0)}, kMany)->As<bool>(), true),
            0);
  EXPECT_EQ(std::ranges::count(Draw("bernoulli", {Weak(1.0)}, kMany)->As<bool>(), true),
            kDraws);
}

TEST(DrawTest, ChancesAreFrom0To1) {
  for (const double chance : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THAT(Draw("bernoulli", {Weak(chance)}).status().ToString(),
                HasSubstr("row 0: a chance cannot be"));
  }
}

TEST(DrawTest, DrawsNormalsNearTheMean) {
  const absl::StatusOr<Column> drawn =
      Draw("truncated_normal", {Weak(10.0), Weak(3.0)}, kMany);
  ASSERT_THAT(drawn, base::IsOk());
  const absl::Span<const double> values = drawn->As<double>();
  EXPECT_GE(*std::ranges::min_element(values), 4);
  EXPECT_LE(*std::ranges::max_element(values), 16);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  EXPECT_NEAR(sum / kDraws, 10, 0.1);
  EXPECT_THAT(Draw("truncated_normal", {Weak(0.0), Weak(-1.0)}).status().ToString(),
              HasSubstr("a deviation cannot be -1"));
}

TEST(DrawTest, ChoosesByWeight) {
  const absl::StatusOr<Column> drawn =
      Draw("choice", {Constant(Tensor1<double>({1, 0, 3, 0}))}, kMany);
  ASSERT_THAT(drawn, base::IsOk());
  const absl::Span<const int64_t> values = drawn->As<int64_t>();
  EXPECT_NEAR(std::ranges::count(values, 0), kDraws * 0.25, 300);
  EXPECT_NEAR(std::ranges::count(values, 2), kDraws * 0.75, 300);
}

TEST(DrawTest, NeedsWeightsToChooseFrom) {
  const auto error = [](const Tensor& weights) {
    return Draw("choice", {Constant(weights)}).status().ToString();
  };
  EXPECT_THAT(error(Tensor1<double>({0, 0})), HasSubstr("nothing to choose from"));
  EXPECT_THAT(error(Tensor1<double>({})), HasSubstr("nothing to choose from"));
  EXPECT_THAT(error(Tensor1<double>({1, -1})), HasSubstr("a weight cannot be -1"));
  EXPECT_THAT(error(Tensor1<double>({1, std::nan("")})), HasSubstr("cannot be nan"));
  EXPECT_THAT(error(Tensor1<double>({1, INFINITY})), HasSubstr("cannot be inf"));
  EXPECT_THAT(error(Tensor::Scalar(1.0)), HasSubstr("weights along one axis"));
}

TEST(DrawTest, DrawsOrders) {
  const absl::StatusOr<Column> drawn =
      Draw("permutation", {Rows(ScalarRows<int64_t>({5, 0, 5}))}, {}, 3);
  ASSERT_THAT(drawn, base::IsOk());
  const absl::Span<const int64_t> first = drawn->Row(0)->As<int64_t>();
  EXPECT_THAT(std::vector<int64_t>(first.begin(), first.end()),
              testing::UnorderedElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(drawn->Row(1)->count(), 0);
  EXPECT_FALSE(*drawn->Row(0) == *drawn->Row(2));
  EXPECT_THAT(Draw("permutation", {Weak<int64_t>(-1)}).status().ToString(),
              HasSubstr("row 0: there is no order of -1"));
}

TEST(DrawTest, ChecksTypes) {
  EXPECT_FALSE(InferKernel("permutation", {{DType::kFloat32, {}}}).ok());
  EXPECT_FALSE(InferKernel("permutation", {{DType::kInt64, {2}}}).ok());
  EXPECT_FALSE(InferKernel("bernoulli", {{DType::kString, {}}}).ok());
  EXPECT_FALSE(InferKernel("choice", {{DType::kFloat32, {2, 2}}}).ok());
}

}  // namespace
}  // namespace millrace::kernels
