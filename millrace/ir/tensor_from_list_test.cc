#include "millrace/ir/tensor_from_list.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using core::BFloat16;
using core::DType;
using core::Float16;
using core::Tensor;
using testing::HasSubstr;
using testing::Not;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

// A list of one item. (List{List{1}} is a copy of the inner one to some compilers.)
Value Around(const Value& item) { return List(1, item); }

TEST(TensorFromListTest, OneListIsOneAxis) {
  EXPECT_THAT(TensorFromList(List{1, 2, 3}, DType::kInt32),
              IsOkAndHolds(Tensor::FromValues<int32_t>({1, 2, 3}, {3})));
  EXPECT_THAT(TensorFromList(List{0.5}, DType::kFloat64),
              IsOkAndHolds(Tensor::FromValues<double>({0.5}, {1})));
}

TEST(TensorFromListTest, ListsInListsAreMoreAxes) {
  EXPECT_THAT(TensorFromList(List{List{1, 2, 3}, List{4, 5, 6}}, DType::kUint8),
              IsOkAndHolds(Tensor::FromValues<uint8_t>({1, 2, 3, 4, 5, 6}, {2, 3})));
  EXPECT_THAT(TensorFromList(Around(Around(Around(7))), DType::kUint8),
              IsOkAndHolds(Tensor::FromValues<uint8_t>({7}, {1, 1, 1})));
}

TEST(TensorFromListTest, EmptyListsMakeEmptyArrays) {
  EXPECT_THAT(TensorFromList(List{}, DType::kFloat32),
              IsOkAndHolds(Tensor::FromValues<float>({}, {0})));
  EXPECT_THAT(TensorFromList(List{List{}, List{}}, DType::kString),
              IsOkAndHolds(Tensor::FromTexts({}, {2, 0})));
}

TEST(TensorFromListTest, HoldsEveryType) {
  EXPECT_THAT(TensorFromList(List{true, false}, DType::kBool), IsOk());
  EXPECT_THAT(TensorFromList(List{"a", "bc"}, DType::kString),
              IsOkAndHolds(Tensor::FromTexts({"a", "bc"}, {2})));
  EXPECT_THAT(TensorFromList(List{"\xff"}, DType::kBytes),
              IsOkAndHolds(Tensor::FromTexts({"\xff"}, {1}, DType::kBytes)));
  EXPECT_THAT(TensorFromList(List{1.5}, DType::kFloat16),
              IsOkAndHolds(Tensor::FromValues<Float16>({Float16(1.5F)}, {1})));
  EXPECT_THAT(TensorFromList(List{1.5}, DType::kBFloat16),
              IsOkAndHolds(Tensor::FromValues<BFloat16>({BFloat16(1.5F)}, {1})));
}

TEST(TensorFromListTest, IntegersWillDoForFloats) {
  EXPECT_THAT(TensorFromList(List{1, 2.5}, DType::kFloat32),
              IsOkAndHolds(Tensor::FromValues<float>({1, 2.5}, {2})));
  const int64_t large = (int64_t{1} << 53) + 2;
  EXPECT_THAT(
      TensorFromList(List{large}, DType::kFloat64),
      IsOkAndHolds(Tensor::FromValues<double>({static_cast<double>(large)}, {1})));
}

TEST(TensorFromListTest, TheEndsOfARangeFit) {
  EXPECT_THAT(TensorFromList(List{-128, 127}, DType::kInt8), IsOk());
  EXPECT_THAT(TensorFromList(List{0, 255}, DType::kUint8), IsOk());
  EXPECT_THAT(TensorFromList(List{65504}, DType::kFloat16), IsOk());
  EXPECT_THAT(TensorFromList(List{std::numeric_limits<int64_t>::min()}, DType::kInt64),
              IsOk());
}

TEST(TensorFromListTest, NumbersThatDoNotFitAreNamed) {
  EXPECT_THAT(TensorFromList(List{1, 300}, DType::kUint8),
              StatusIs(kWrong, "an array of uint8 cannot hold 300"));
  EXPECT_THAT(TensorFromList(List{-1}, DType::kUint64),
              StatusIs(kWrong, "an array of uint64 cannot hold -1"));
  EXPECT_THAT(TensorFromList(List{1.5}, DType::kInt32),
              StatusIs(kWrong, "an array of int32 cannot hold 1.5"));
  EXPECT_THAT(TensorFromList(List{1e300}, DType::kFloat32),
              StatusIs(kWrong, "an array of float32 cannot hold 1e+300"));
  EXPECT_THAT(TensorFromList(List{70'000}, DType::kFloat16),
              StatusIs(kWrong, "an array of float16 cannot hold 70000"));
}

TEST(TensorFromListTest, InfinityAndNanAreFloats) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(TensorFromList(List{infinity, -infinity}, DType::kFloat16), IsOk());
  const auto nan = TensorFromList(List{std::nan("")}, DType::kFloat32);
  ASSERT_THAT(nan, IsOk());
  EXPECT_TRUE(std::isnan(nan->As<float>()[0]));
  EXPECT_THAT(TensorFromList(List{infinity}, DType::kInt64), Not(IsOk()));
}

TEST(TensorFromListTest, ItemsOfAnotherKindAreNamed) {
  EXPECT_THAT(TensorFromList(List{1, "a"}, DType::kInt64),
              StatusIs(kWrong, "an array of int64 cannot hold a text"));
  EXPECT_THAT(TensorFromList(List{1}, DType::kString),
              StatusIs(kWrong, "an array of string cannot hold 1"));
  EXPECT_THAT(TensorFromList(List{1}, DType::kBool),
              StatusIs(kWrong, "an array of bool cannot hold 1"));
  EXPECT_THAT(TensorFromList(List{true}, DType::kInt64),
              StatusIs(kWrong, "an array of int64 cannot hold a bool"));
  EXPECT_THAT(TensorFromList(List{Value()}, DType::kFloat64),
              StatusIs(kWrong, "an array of float64 cannot hold none"));
}

TEST(TensorFromListTest, ListsAtOneDepthAreEquallyLong) {
  for (const List& list :
       {List{List{1, 2}, List{3}}, List{List{1}, 2}, List{1, List{2}},
        List{List{}, List{1}}, List{Around(Around(1)), List{1}}}) {
    EXPECT_THAT(TensorFromList(list, DType::kInt64),
                StatusIs(kWrong, HasSubstr("differ in length")));
  }
}

}  // namespace
}  // namespace millrace::ir
