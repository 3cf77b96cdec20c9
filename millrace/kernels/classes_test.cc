#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using testing::HasSubstr;

std::string Bucket(const Input& x, int64_t buckets, int64_t seed = 0) {
  return Shown(CallKernel("hash_bucket", {x}, {{"buckets", buckets}, {"seed", seed}}));
}

// Computed by a separate implementation in Python. Whatever changes these changes what
// models were trained on.
TEST(ClassesTest, GivesTheBucketsItAlwaysGave) {
  const Input texts = Rows(TextRows({"", "a", "seventeen letters", "b"}));
  EXPECT_EQ(Bucket(texts, 1000), "int64 204; int64 405; int64 878; int64 688");
  EXPECT_EQ(Bucket(Rows(ScalarRows<int64_t>({0, 1, -1})), 1000),
            "int64 204; int64 190; int64 454");
}

TEST(ClassesTest, HashesByValueAndSeed) {
  EXPECT_EQ(Bucket(Rows(ScalarRows<int8_t>({1, -1})), 1 << 30),
            Bucket(Rows(ScalarRows<int64_t>({1, -1})), 1 << 30));
  EXPECT_EQ(Bucket(Rows(TextRows({"a"}, DType::kBytes)), 1 << 30),
            Bucket(Rows(TextRows({"a"})), 1 << 30));
  EXPECT_NE(Bucket(Rows(TextRows({"a"})), 1 << 30),
            Bucket(Rows(TextRows({"a"})), 1 << 30, 1));
  EXPECT_NE(Bucket(Rows(TextRows({std::string("a\0", 2)})), 1 << 30),
            Bucket(Rows(TextRows({"a"})), 1 << 30));
  EXPECT_EQ(Bucket(Rows(TextRows({"a"})), 1), "int64 0");
}

TEST(ClassesTest, SpreadsOverTheBuckets) {
  std::vector<std::string> texts;
  texts.reserve(8000);
  for (int i = 0; i < 8000; ++i) texts.push_back("word" + std::to_string(i));
  const absl::StatusOr<Column> buckets =
      CallKernel("hash_bucket", {Rows(TextRows(texts))}, {{"buckets", 8}});
  std::vector<int> counts(8);
  for (const int64_t bucket : buckets->As<int64_t>()) ++counts[bucket];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(ClassesTest, HashesIntegersAndTextsOnly) {
  EXPECT_THAT(Bucket(Rows(ScalarRows<float>({1})), 2),
              HasSubstr("needs integers or texts"));
  EXPECT_THAT(Bucket(Rows(ScalarRows<int64_t>({1})), 0), HasSubstr("at least 1"));
}

TEST(ClassesTest, CountsBoundariesBelow) {
  const ir::Arguments boundaries = {{"boundaries", ir::List{0.0, 10.0, 100.0}}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Shown(CallKernel("bucketize",
                             {Rows(ScalarRows<double>({-5, 0, 9.5, 10, 1e9, nan}))},
                             boundaries)),
            "int64 0; int64 1; int64 1; int64 2; int64 3; int64 3");
  EXPECT_EQ(
      Shown(CallKernel("bucketize", {Rows(ScalarRows<uint8_t>({10}))}, boundaries)),
      "int64 2");
  EXPECT_EQ(Shown(CallKernel("bucketize", {Rows(ScalarRows<int64_t>({3}))},
                             {{"boundaries", ir::List{}}})),
            "int64 0");
}

TEST(ClassesTest, TakesBoundariesThatRise) {
  for (const double second : {1.0, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(InferKernel("bucketize", {{DType::kInt64, {}}},
                            {{"boundaries", ir::List{1.0, second}}})
                    .status()
                    .ToString(),
                HasSubstr("boundaries must rise"));
  }
}

TEST(ClassesTest, MakesOneHotVectors) {
  const Tensor classes = Tensor1<int32_t>({2, 0, 3, -1});
  for (const Column& column : Layouts({classes})) {
    const absl::StatusOr<Column> vectors =
        CallKernel("one_hot", {Rows(column)}, {{"depth", 3}, {"dtype", "int8"}});
    EXPECT_THAT(vectors->Row(0)->As<int8_t>(),
                testing::ElementsAre(0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0));
  }
  EXPECT_EQ(Shown(CallKernel("one_hot", {Rows(ScalarRows<int64_t>({1}))},
                             {{"depth", 2}, {"on", 0.9}, {"off", 0.1}})),
            "float32[2] [0.1, 0.9]");
  const uint64_t huge = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(Shown(CallKernel("one_hot", {Rows(ScalarRows<uint64_t>({huge, 1}))},
                             {{"depth", 2}, {"dtype", "bool"}})),
            "bool[2] [false, false]; bool[2] [false, true]");
}

TEST(ClassesTest, InfersTheShapeOfOneHot) {
  const ir::Arguments depth = {{"depth", 5}};
  EXPECT_EQ(
      InferKernel("one_hot", {{DType::kInt64, {core::kUnknownSize}}}, depth)->shape,
      Shape({core::kUnknownSize, 5}));
  EXPECT_FALSE(InferKernel("one_hot", {{DType::kInt64, Shape::Unranked()}}, depth)
                   ->shape.ranked());
  EXPECT_FALSE(InferKernel("one_hot", {{DType::kFloat32, {}}}, depth).ok());
}

}  // namespace
}  // namespace millrace::kernels
