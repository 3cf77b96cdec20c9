#include "millrace/base/random.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using base::Generator;
using base::IsOkAndHolds;
using base::RandomKey;
using base::StatusIs;
using core::Block;
using core::Column;
using core::DType;
using core::RowId;
using core::Shape;
using core::Tensor;
using ir::ValueType;
using testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

const std::vector<std::string> kRandom = {"uniform", "integers", "normal"};

RowId IdOf(int64_t row) { return {17, static_cast<uint64_t>(row)}; }

// Rows without fields, but with identities.
Block BlockOf(const std::vector<int64_t>& rows) {
  std::vector<RowId> ids;
  ids.reserve(rows.size());
  for (const int64_t row : rows) ids.push_back(IdOf(row));
  const Block block(static_cast<int64_t>(rows.size()), core::FieldNames{}, {});
  return block.WithIds(*core::IdColumn(ids, core::HeapPool()));
}

ir::Arguments Many(const std::vector<int64_t>& sizes) {
  ir::List list;
  for (const int64_t size : sizes) list.emplace_back(size);
  return {{"shape", list}};
}

absl::StatusOr<Column> Draw(std::string_view kernel, const Block& block,
                            const std::vector<Input>& operands,
                            const ir::Arguments& arguments = {}, uint64_t call = 3) {
  const ir::Draws draws = {.key = RandomKey(1, 2, call), .rows = &block};
  return CallKernel(kernel, operands, arguments, &draws);
}

std::vector<Input> ZeroToTen() { return {Weak<int64_t>(0), Weak<int64_t>(10)}; }

TEST(RandomTest, DrawsWhatTheGeneratorOfTheRowGives) {
  const Block block = BlockOf({5, 6});
  for (int64_t row = 0; row < 2; ++row) {
    const auto generator = [&] { return Generator(RandomKey(1, 2, 3), IdOf(5 + row)); };
    EXPECT_EQ(Draw("uniform", block, ZeroToTen())->As<double>()[row],
              generator().Uniform(0, 10));
    EXPECT_EQ(Draw("integers", block, ZeroToTen())->As<int64_t>()[row],
              generator().Integer(0, 10));
    EXPECT_EQ(Draw("normal", block, ZeroToTen())->As<double>()[row],
              0 + 10 * generator().Normal());
  }
}

TEST(RandomTest, DrawsTheSameForARowWhateverBlockItIsIn) {
  const Block all = BlockOf({1, 2, 3, 4, 5, 6});
  const Block shuffled = BlockOf({6, 2, 9});
  for (const std::string& kernel : kRandom) {
    const Column of_all = *Draw(kernel, all, ZeroToTen(), Many({3}));
    const Column of_shuffled = *Draw(kernel, shuffled, ZeroToTen(), Many({3}));
    EXPECT_EQ(*of_all.Row(5), *of_shuffled.Row(0)) << kernel;
    EXPECT_EQ(*of_all.Row(1), *of_shuffled.Row(1)) << kernel;
    for (int64_t row = 0; row < 6; ++row) {
      const Column alone = *Draw(kernel, all.Slice(row, 1), ZeroToTen(), Many({3}));
      EXPECT_EQ(*of_all.Row(row), *alone.Row(0)) << kernel;
    }
  }
}

TEST(RandomTest, DrawsOtherNumbersForOtherCallsAndRows) {
  const Block block = BlockOf({1, 2});
  for (const std::string& kernel : kRandom) {
    const Column first = *Draw(kernel, block, ZeroToTen(), Many({8}), 0);
    const Column second = *Draw(kernel, block, ZeroToTen(), Many({8}), 1);
    EXPECT_FALSE(*first.Row(0) == *second.Row(0)) << kernel;
    EXPECT_FALSE(*first.Row(0) == *first.Row(1)) << kernel;
  }
}

TEST(RandomTest, DrawsForABatchByTheIdentityOfTheBatch) {
  const Block batches = BlockOf({1, 2, 3, 4}).Stack(2);
  const Column drawn = *Draw("uniform", batches, ZeroToTen());
  for (int64_t batch = 0; batch < 2; ++batch) {
    const RowId id = base::Combine(IdOf(1 + 2 * batch), uint64_t{2});
    EXPECT_EQ(batches.IdAt(batch), id);
    EXPECT_EQ(drawn.As<double>()[batch],
              Generator(RandomKey(1, 2, 3), id).Uniform(0, 10));
  }
}

TEST(RandomTest, DrawsManyInRowMajorOrderFromOneGenerator) {
  const Block block = BlockOf({7});
  for (const std::string& kernel : kRandom) {
    const Tensor one = *Draw(kernel, block, ZeroToTen())->Row(0);
    const Tensor five = *Draw(kernel, block, ZeroToTen(), Many({5}))->Row(0);
    const Tensor six = *Draw(kernel, block, ZeroToTen(), Many({3, 2}))->Row(0);
    EXPECT_EQ(six.shape(), Shape({3, 2}));
    EXPECT_EQ(one.values().text(), five.values().text().substr(0, 8)) << kernel;
    EXPECT_EQ(five.values().text(), six.values().text().substr(0, 40)) << kernel;
  }
  EXPECT_EQ(Draw("normal", block, ZeroToTen(), Many({0, 4}))->Row(0)->count(), 0);
}

TEST(RandomTest, DrawsIntegersFromLowToBelowHigh) {
  std::vector<int64_t> rows(2000);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  const Column drawn =
      *Draw("integers", BlockOf(rows), {Weak<int64_t>(-2), Weak<int64_t>(3)});
  std::vector<int> counts(5);
  for (const int64_t value : drawn.As<int64_t>()) {
    ASSERT_GE(value, -2);
    ASSERT_LT(value, 3);
    ++counts[value + 2];
  }
  for (const int count : counts) EXPECT_NEAR(count, 400, 100);
}

TEST(RandomTest, DrawsNumbersOfTheRightDistribution) {
  const Block block = BlockOf({1});
  const Tensor uniform =
      *Draw("uniform", block, {Weak(2.0), Weak(4.0)}, Many({10'000}))->Row(0);
  const Tensor normal =
      *Draw("normal", block, {Weak(5.0), Weak(2.0)}, Many({10'000}))->Row(0);
  double sum = 0;
  for (const double value : uniform.As<double>()) {
    ASSERT_GE(value, 2);
    ASSERT_LT(value, 4);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 3, 0.05);
  double total = 0;
  double squares = 0;
  for (const double value : normal.As<double>()) {
    total += value;
    squares += (value - 5) * (value - 5);
  }
  EXPECT_NEAR(total / 10'000, 5, 0.1);
  EXPECT_NEAR(std::sqrt(squares / 10'000), 2, 0.1);
}

TEST(RandomTest, TakesOtherBoundsForEachRow) {
  const Block block = BlockOf({1, 2, 3});
  for (const Column& low :
       Layouts({Tensor::Scalar<int16_t>(0), Tensor::Scalar<int16_t>(100),
                Tensor::Scalar<int16_t>(-100)})) {
    const Column high = ScalarRows<uint8_t>({1, 101, 0});
    const Column drawn = *Draw("integers", block, {Rows(low), Rows(high)});
    EXPECT_EQ(drawn.As<int64_t>()[0], 0);
    EXPECT_EQ(drawn.As<int64_t>()[1], 100);
    EXPECT_LT(drawn.As<int64_t>()[2], 0);
  }
}

TEST(RandomTest, TakesBoundsOfEveryNumericType) {
  const Block block = BlockOf({1, 2});
  for (const DType dtype : core::kAllDTypes) {
    if (!core::IsNumeric(dtype)) continue;
    const Column high = core::VisitDType(dtype, []<typename T>() {
      return ScalarRows<T>({static_cast<T>(1.0F), static_cast<T>(100.0F)});
    });
    const Column drawn = *Draw("uniform", block, {Weak<int64_t>(0), Rows(high)});
    EXPECT_EQ(drawn.As<double>()[1],
              Generator(RandomKey(1, 2, 3), IdOf(2)).Uniform(0, 100))
        << dtype;
  }
}

TEST(RandomTest, NamesTheRowWithoutARange) {
  const Block block = BlockOf({1, 2});
  EXPECT_THAT(
      Draw("integers", block, {Weak<int64_t>(5), Rows(ScalarRows<int64_t>({6, 5}))}),
      StatusIs(kDataLoss, "row 1: there is no integer from 5 up to, not including, 5"));
  EXPECT_THAT(Draw("uniform", block, {Weak(5.0), Rows(ScalarRows<double>({6, 4.5}))}),
              StatusIs(kDataLoss, "row 1: cannot draw from 5 up to 4.5"));
  EXPECT_THAT(Draw("normal", block, {Weak(5.0), Rows(ScalarRows<double>({0, -1}))}),
              StatusIs(kDataLoss, "row 1: a deviation cannot be -1"));
}

TEST(RandomTest, RefusesBoundsThatAreNoNumbers) {
  const Block block = BlockOf({1});
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(Draw("uniform", block, {Weak(0.0), Weak(inf)}), StatusIs(kDataLoss));
  EXPECT_THAT(Draw("uniform", block, {Weak(std::nan("")), Weak(1.0)}),
              StatusIs(kDataLoss));
  EXPECT_THAT(Draw("normal", block, {Weak(0.0), Weak(std::nan(""))}),
              StatusIs(kDataLoss));
  EXPECT_THAT(Draw("uniform", block, {Weak(-1e308), Weak(1e308)}), StatusIs(kDataLoss));
}

TEST(RandomTest, DrawsTheOnlyNumberThereIs) {
  const Block block = BlockOf({1});
  EXPECT_EQ(Shown(Draw("uniform", block, {Weak(2.5), Weak(2.5)})), "float64 2.5");
  EXPECT_EQ(Shown(Draw("normal", block, {Weak(2.5), Weak(0.0)})), "float64 2.5");
  EXPECT_EQ(Shown(Draw("integers", block,
                       {Weak<int64_t>(INT64_MAX - 1), Weak<int64_t>(INT64_MAX)})),
            "int64 9223372036854775806");
}

TEST(RandomTest, InfersWhatIsDrawn) {
  const ValueType number = {.dtype = DType::kInt32, .shape = {}};
  const ValueType unknown = {.dtype = DType::kInt32, .shape = Shape::Unranked()};
  const ValueType scalar = {.dtype = DType::kFloat64, .shape = {}};
  const ValueType table = {.dtype = DType::kInt64, .shape = {2, 3}};
  EXPECT_THAT(InferKernel("uniform", {number, unknown}), IsOkAndHolds(scalar));
  EXPECT_THAT(InferKernel("integers", {number, number}, Many({2, 3})),
              IsOkAndHolds(table));
}

TEST(RandomTest, RefusesOtherOperandsAndShapes) {
  const ValueType number = {.dtype = DType::kInt32, .shape = {}};
  const ValueType real = {.dtype = DType::kFloat32, .shape = {}};
  const ValueType huge = {.dtype = DType::kUint64, .shape = {}};
  const ValueType many = {.dtype = DType::kInt32, .shape = {2}};
  const ValueType text = {.dtype = DType::kString, .shape = {}};
  EXPECT_THAT(InferKernel("integers", {number, real}),
              StatusIs(kInvalid, HasSubstr("not int32 and float32; cast first")));
  EXPECT_THAT(InferKernel("integers", {number, huge}), StatusIs(kInvalid));
  for (const std::string& kernel : kRandom) {
    EXPECT_THAT(InferKernel(kernel, {number, many}),
                StatusIs(kInvalid, HasSubstr("needs scalars, not int32 and int32[2]")));
    EXPECT_THAT(InferKernel(kernel, {number, text}), StatusIs(kInvalid));
    EXPECT_THAT(InferKernel(kernel, {number, number}, Many({-1})), StatusIs(kInvalid));
    EXPECT_THAT(InferKernel(kernel, {number, number},
                            Many({int64_t{1} << 40, int64_t{1} << 40})),
                StatusIs(kInvalid, HasSubstr("too large")));
  }
}

TEST(RandomTest, SaysThatItIsRandom) {
  const std::vector<std::string> more = {"bernoulli", "choice", "permutation",
                                         "truncated_normal"};
  for (const auto& [name, kernel] : AllKernels().kernels()) {
    const std::vector<std::string> others = {"color_jitter",         "rand_augment",
                                             "trivial_augment_wide", "auto_augment",
                                             "draw_mixup",           "draw_cutmix"};
    const bool random =
        std::ranges::count(kRandom, name) > 0 || std::ranges::count(others, name) > 0 ||
        std::ranges::count(more, name) > 0 || name.starts_with("random_");
    EXPECT_EQ(kernel.random, random) << name;
  }
}

}  // namespace
}  // namespace millrace::kernels
