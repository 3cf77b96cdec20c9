#include "millrace/kernels/walk.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/copy_values.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using core::DType;
using core::Shape;
using core::Tensor;
using testing::ElementsAre;

constexpr int64_t kFails = -1;

// Writes 1000 * a + b. Stops at a value kFails of b.
int64_t Combine(absl::Span<const Values> operands, int64_t count, ValueWriter& out) {
  auto* const result = out.Take<int64_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t a = operands[0].As<int64_t>()[i * operands[0].step];
    const int64_t b = operands[1].As<int64_t>()[i * operands[1].step];
    if (b == kFails) return i;
    result[i] = 1000 * a + b;
  }
  return count;
}

Tensor Counting(const Shape& shape) {
  std::vector<int64_t> values;
  values.reserve(shape.Count());
  for (int64_t i = 0; i < shape.Count(); ++i) values.push_back(i);
  return Tensor::FromValues<int64_t>(values, shape);
}

struct Outcome {
  std::vector<int64_t> values;
  std::vector<int64_t> runs;  // How long they were.
  int64_t computed = 0;
};

Outcome RunPair(const Walk& walk, const Tensor& a, const Tensor& b) {
  ValueWriter out = *ValueWriter::Open(DType::kInt64, walk.count(), core::HeapPool());
  const std::vector<Values> firsts = {ValuesOf(a), ValuesOf(b)};
  Outcome outcome;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& writer) {
    outcome.runs.push_back(count);
    return Combine(operands, count, writer);
  };
  outcome.computed = walk.Run(firsts, loop, out);
  if (outcome.computed == walk.count()) {
    const Tensor result = *std::move(out).ToTensor({walk.count()});
    const absl::Span<const int64_t> values = result.As<int64_t>();
    outcome.values.assign(values.begin(), values.end());
  }
  return outcome;
}

Outcome RunBroadcast(const Tensor& a, const Tensor& b) {
  Walk walk(2);
  const std::vector<const Shape*> shapes = {&a.shape(), &b.shape()};
  walk.AddBroadcastAxes(*core::Broadcast(a.shape(), b.shape()), shapes);
  return RunPair(walk, a, b);
}

// Where a value of `shape` lies that stands at `index` of a result: the slow, plain
// way.
int64_t PlaceOf(const Shape& shape, const std::vector<int64_t>& index) {
  int64_t place = 0;
  const auto shift = static_cast<int64_t>(index.size()) - shape.rank();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    place = place * shape[axis] + (shape[axis] == 1 ? 0 : index[axis + shift]);
  }
  return place;
}

std::vector<int64_t> Expected(const Tensor& a, const Tensor& b) {
  const Shape result = *core::Broadcast(a.shape(), b.shape());
  std::vector<int64_t> expected;
  std::vector<int64_t> index(result.rank());
  for (int64_t i = 0; i < result.Count(); ++i) {
    int64_t rest = i;
    for (int axis = result.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % result[axis];
      rest /= result[axis];
    }
    expected.push_back(1000 * a.As<int64_t>()[PlaceOf(a.shape(), index)] +
                       b.As<int64_t>()[PlaceOf(b.shape(), index)]);
  }
  return expected;
}

TEST(WalkTest, StepsThroughRowsInRowMajorOrder) {
  EXPECT_THAT(RowMajorSteps({2, 3, 4}), ElementsAre(12, 4, 1));
  EXPECT_THAT(RowMajorSteps({5}), ElementsAre(1));
  EXPECT_THAT(RowMajorSteps({}), ElementsAre());
  EXPECT_THAT(RowMajorSteps({2, 0}), ElementsAre(0, 1));
}

TEST(WalkTest, MakesOneRunOfEqualShapes) {
  const Outcome outcome = RunBroadcast(Counting({4, 5, 6}), Counting({4, 5, 6}));
  EXPECT_THAT(outcome.runs, ElementsAre(120));
  EXPECT_EQ(outcome.values[7], 7007);
}

TEST(WalkTest, MakesOneRunOfAValueAndAScalar) {
  const Outcome outcome = RunBroadcast(Counting({4, 5}), Counting({}));
  EXPECT_THAT(outcome.runs, ElementsAre(20));
  EXPECT_EQ(outcome.values[19], 19000);
}

TEST(WalkTest, ComputesOneValueOfTwoScalars) {
  const Outcome outcome = RunBroadcast(Counting({}), Counting({1, 1}));
  EXPECT_THAT(outcome.values, ElementsAre(0));
  EXPECT_THAT(outcome.runs, ElementsAre(1));
}

TEST(WalkTest, ComputesNothingOfNothing) {
  const Outcome outcome = RunBroadcast(Counting({3, 0}), Counting({1}));
  EXPECT_EQ(outcome.computed, 0);
  EXPECT_THAT(outcome.runs, ElementsAre());
}

TEST(WalkTest, BroadcastsLikeNestedLoops) {
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{2, 3}, {3}},          {{2, 3}, {2, 1}},       {{2, 1}, {1, 3}},
      {{4, 1, 2}, {3, 1}},    {{2, 3, 4}, {2, 1, 4}}, {{1}, {2, 2}},
      {{2, 3, 4}, {1, 3, 1}}, {{7, 1}, {7, 9}},       {{2, 0, 3}, {1, 3}},
  };
  for (const auto& [of_a, of_b] : cases) {
    const Tensor a = Counting(of_a);
    const Tensor b = Counting(of_b);
    EXPECT_EQ(RunBroadcast(a, b).values, Expected(a, b)) << of_a << " " << of_b;
    EXPECT_EQ(RunBroadcast(b, a).values, Expected(b, a)) << of_b << " " << of_a;
  }
}

// Shapes drawn at random, of up to four axes and a few thousand values.
TEST(WalkTest, BroadcastsAnyShapesLikeNestedLoops) {
  base::Generator random(base::RandomKey(1, 2, 3), {});
  for (int round = 0; round < 300; ++round) {
    Sizes of_a;
    Sizes of_b;
    for (int64_t axis = random.Integer(0, 5); axis > 0; --axis) {
      const int64_t size = random.Integer(1, 9) * (axis == 1 ? 5 : 1);
      of_a.push_back(random.Integer(0, 3) == 0 ? 1 : size);
      of_b.push_back(random.Integer(0, 3) == 0 ? 1 : size);
    }
    of_b.erase(of_b.begin(), of_b.begin() + random.Integer(0, std::ssize(of_b) + 1));
    const Tensor a = Counting(Shape(of_a));
    const Tensor b = Counting(Shape(of_b));
    ASSERT_EQ(RunBroadcast(a, b).values, Expected(a, b)) << a.shape() << b.shape();
    ASSERT_EQ(RunBroadcast(b, a).values, Expected(b, a)) << b.shape() << a.shape();
  }
}

TEST(WalkTest, MakesLongRunsOfShortRepetitions) {
  const Tensor image = Counting({100, 10, 3});
  const Tensor channels = Counting({3});
  const Outcome outcome = RunBroadcast(image, channels);
  EXPECT_EQ(outcome.values, Expected(image, channels));
  EXPECT_LE(outcome.runs.size(), 8U);  // Not 1000.
}

TEST(WalkTest, TellsWhereALongRunFailed) {
  std::vector<int64_t> values(3000, 1);
  values[2345] = kFails;
  const Tensor image = Tensor::FromValues<int64_t>(values, {1000, 3});
  EXPECT_EQ(RunBroadcast(Counting({3}), image).computed, 2345);
}

TEST(WalkTest, TellsWhereAShortRunFailed) {
  const Tensor b = Tensor1<int64_t>({5, kFails});
  EXPECT_EQ(RunBroadcast(Counting({4, 2}), b).computed, 1);
  EXPECT_EQ(RunBroadcast(Counting({2, 4, 1}), b).computed, 1);
}

TEST(WalkTest, WalksBackwardsAndInLeaps) {
  const Tensor tensor = Counting({3, 6});
  Walk walk(1);
  walk.AddAxis(3, {-6});  // Rows from the last to the first,
  walk.AddAxis(2, {3});   // of each every third value.
  const std::vector<Values> firsts = {ValuesOf(tensor).From(12)};
  ValueWriter out = *ValueWriter::Open(DType::kInt64, 6, core::HeapPool());
  ASSERT_EQ(walk.Run(firsts, CopyValues, out), 6);
  EXPECT_EQ(std::move(out).ToTensor({6})->ToString(), "int64[6] [12, 15, 6, 9, 0, 3]");
}

TEST(WalkTest, JoinsAxesThatLieOneAfterTheOther) {
  const Tensor tensor = Counting({24});
  Walk walk(2);
  walk.AddAxis(2, {12, 12});
  walk.AddAxis(1, {0, 5});  // Of size 1: its steps do not matter.
  walk.AddAxis(3, {4, 4});
  walk.AddAxis(4, {1, 1});
  EXPECT_THAT(RunPair(walk, tensor, tensor).runs, ElementsAre(24));
}

TEST(WalkTest, RefusesAStepTooFew) {
  Walk walk(2);
  EXPECT_DEATH(walk.AddAxis(3, {1}), "operands_");
}

}  // namespace
}  // namespace millrace::kernels
