#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using core::Column;
using core::DType;
using core::kUnknownSize;
using core::Shape;
using core::Tensor;
using ir::ValueType;
using testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

// Counts up from `first`.
Tensor Counting(const Shape& shape, int32_t first = 0) {
  std::vector<int32_t> values;
  values.reserve(shape.Count());
  for (int64_t i = 0; i < shape.Count(); ++i) {
    values.push_back(first + static_cast<int32_t>(i));
  }
  return Tensor::FromValues<int32_t>(values, shape);
}

Tensor Texts(const std::vector<std::string>& texts, const Shape& shape) {
  return Tensor::FromTexts(texts, shape);
}

ir::Arguments Axis(int64_t axis) { return {{"axis", axis}}; }

struct Bounds {
  std::optional<int64_t> start = {};
  std::optional<int64_t> stop = {};
  int64_t step = 1;
  int64_t axis = 0;
};

ir::Arguments ArgumentsOf(const Bounds& bounds) {
  ir::Arguments arguments = {{"axis", bounds.axis}, {"step", bounds.step}};
  if (bounds.start) arguments.Set("start", *bounds.start);
  if (bounds.stop) arguments.Set("stop", *bounds.stop);
  return arguments;
}

absl::StatusOr<Column> Slice(const Input& input, const Bounds& bounds) {
  return CallKernel("slice", {input}, ArgumentsOf(bounds));
}

// --- at ---

TEST(IndexTest, TakesTheSamePlaceOfEveryRow) {
  for (const Column& column : Layouts({Counting({3}), Counting({3}, 10)})) {
    EXPECT_EQ(Shown(CallKernel("at", {Rows(column), Weak<int64_t>(1)})),
              "int32 1; int32 11");
    EXPECT_EQ(Shown(CallKernel("at", {Rows(column), Weak<int64_t>(-1)})),
              "int32 2; int32 12");
  }
}

TEST(IndexTest, TakesAnotherPlaceOfEachRow) {
  const Input places = Rows(ScalarRows<int64_t>({2, -3}));
  for (const Column& column : Layouts({Counting({3, 2}), Counting({3, 2}, 10)})) {
    EXPECT_EQ(Shown(CallKernel("at", {Rows(column), places})),
              "int32[2] [4, 5]; int32[2] [10, 11]");
  }
}

TEST(IndexTest, TakesPlacesOnAnyAxis) {
  const Column column = *core::FromRows(
      DType::kInt32, {Counting({2, 3, 2}), Counting({2, 3, 2}, 100)}, core::HeapPool());
  EXPECT_EQ(Shown(CallKernel("at", {Rows(column), Weak<int64_t>(1)}, Axis(1))),
            "int32[2, 2] [2, 3, 8, 9]; int32[2, 2] [102, 103, 108, 109]");
  EXPECT_EQ(Shown(CallKernel("at", {Rows(column), Weak<int64_t>(0)}, Axis(-1))),
            "int32[2, 3] [0, 2, 4, 6, 8, 10]; int32[2, 3] [100, 102, 104, 106, 108, "
            "110]");
}

TEST(IndexTest, TakesPlacesOfRaggedRows) {
  const Input places = Rows(ScalarRows<uint8_t>({0, 3}));
  for (const Column& column : Layouts({Counting({2}), Counting({4}, 10)})) {
    EXPECT_EQ(Shown(CallKernel("at", {Rows(column), Weak<int64_t>(-1)})),
              "int32 1; int32 13");
    EXPECT_EQ(Shown(CallKernel("at", {Rows(column), places})), "int32 0; int32 13");
  }
  for (const Column& column : Layouts({Counting({2, 2}), Counting({1, 3}, 10)})) {
    EXPECT_EQ(Shown(CallKernel("at", {Rows(column), Weak<int64_t>(0)}, Axis(1))),
              "int32[2] [0, 2]; int32[1] [10]");
  }
}

TEST(IndexTest, TakesPlacesOfAConstant) {
  EXPECT_EQ(Shown(CallKernel(
                "at", {Constant(Counting({3})), Rows(ScalarRows<int32_t>({2, 0, 1}))})),
            "int32 2; int32 0; int32 1");
  EXPECT_EQ(Shown(CallKernel("at", {Constant(Counting({3})), Weak<int64_t>(2)})),
            "int32 2");
}

TEST(IndexTest, TakesTexts) {
  for (const Column& column :
       Layouts({Texts({"a", "bb"}, {2}), Texts({"c", "d", "eee"}, {3})})) {
    EXPECT_EQ(Shown(CallKernel("at", {Rows(column), Weak<int64_t>(-1)})),
              "string \"bb\"; string \"eee\"");
  }
  for (const Column& column :
       Layouts({Texts({"a", "b", "c", "d"}, {2, 2}), Texts({"e", "f"}, {1, 2})})) {
    EXPECT_EQ(Shown(CallKernel("at", {Rows(column), Weak<int64_t>(1)}, Axis(1))),
              "string[2] [\"b\", \"d\"]; string[1] [\"f\"]");
  }
}

TEST(IndexTest, NamesTheRowAndTheIndexOutOfRange) {
  for (const Column& column : Layouts({Counting({3}), Counting({3}), Counting({3})})) {
    EXPECT_THAT(
        CallKernel("at", {Rows(column), Rows(ScalarRows<int64_t>({0, -3, 3}))}),
        StatusIs(kDataLoss, "row 2: index 3 is out of range for axis 0 of size 3"));
    EXPECT_THAT(
        CallKernel("at", {Rows(column), Weak<int64_t>(-4)}),
        StatusIs(kDataLoss, "row 0: index -4 is out of range for axis 0 of size 3"));
  }
  for (const Column& column : Layouts({Counting({3}), Counting({1}), Counting({0})})) {
    EXPECT_THAT(CallKernel("at", {Rows(column), Weak<int64_t>(1)}),
                StatusIs(kDataLoss, HasSubstr("row 1: index 1 is out of range")));
  }
}

TEST(IndexTest, DoesNotTakeAHugeIndexForANegativeOne) {
  const Column places = ScalarRows<uint64_t>({UINT64_MAX});
  EXPECT_THAT(CallKernel("at", {Constant(Counting({3})), Rows(places)}),
              StatusIs(kDataLoss, HasSubstr("index 18446744073709551615")));
}

TEST(IndexTest, InfersWhatAtGives) {
  const ValueType index = {.dtype = DType::kInt64, .shape = {}, .weak = true};
  const auto infer = [&](const Shape& shape, int64_t axis) {
    return InferKernel("at", {{.dtype = DType::kUint8, .shape = shape}, index},
                       Axis(axis));
  };
  const auto type = [](const Shape& shape) {
    return ValueType{.dtype = DType::kUint8, .shape = shape};
  };
  EXPECT_THAT(infer({kUnknownSize, 5, 3}, 0), IsOkAndHolds(type({5, 3})));
  EXPECT_THAT(infer({kUnknownSize, 5, 3}, -1), IsOkAndHolds(type({kUnknownSize, 5})));
  EXPECT_THAT(infer(Shape::Unranked(), 7), IsOkAndHolds(type(Shape::Unranked())));
  EXPECT_THAT(infer({5}, 1), StatusIs(kInvalid, HasSubstr("no axis 1")));
  EXPECT_THAT(infer({}, 0), StatusIs(kInvalid, HasSubstr("no axis 0")));
  EXPECT_THAT(infer({0}, 0), StatusIs(kInvalid, HasSubstr("nothing at")));
}

TEST(IndexTest, RefusesAnIndexThatIsNoIntegerScalar) {
  const ValueType x = {.dtype = DType::kUint8, .shape = {3}};
  const ValueType real = {.dtype = DType::kFloat32, .shape = {}};
  const ValueType many = {.dtype = DType::kInt64, .shape = {2}};
  EXPECT_THAT(InferKernel("at", {x, real}),
              StatusIs(kInvalid, "needs an integer scalar as index, not float32"));
  EXPECT_THAT(InferKernel("at", {x, many}), StatusIs(kInvalid, HasSubstr("int64[2]")));
  // Not known beforehand, so an error of the row.
  Input unknown = Rows(
      *core::FromRows(DType::kInt64, {Tensor1<int64_t>({0, 1})}, core::HeapPool()));
  unknown.type.shape = Shape::Unranked();
  EXPECT_THAT(CallKernel("at", {Constant(Counting({3})), unknown}),
              StatusIs(kDataLoss, HasSubstr("needs a scalar")));
}

TEST(IndexTest, NamesTheRowWithoutTheAxis) {
  const core::Tensors rows = {Counting({2}), Counting({})};
  for (const Column& column : Layouts(rows)) {
    EXPECT_THAT(
        CallKernel("at", {Rows(column), Weak<int64_t>(0)}),
        StatusIs(kDataLoss, "row 1: there is no axis 0 in a value of shape []"));
    EXPECT_THAT(
        Slice(Rows(column), {}),
        StatusIs(kDataLoss, "row 1: there is no axis 0 in a value of shape []"));
  }
}

// --- slice ---

// Python's own definition: the indices that range(*slice.indices(size)) would give.
std::vector<int64_t> PythonIndices(const Bounds& bounds, int64_t size) {
  const bool forward = bounds.step > 0;
  int64_t start = bounds.start.value_or(forward ? 0 : size - 1);
  int64_t stop = bounds.stop.value_or(forward ? size : -size - 1);
  if (start < 0 && bounds.start) start += size;
  if (stop < 0) stop += size;
  std::vector<int64_t> indices;
  // Far from what is there nothing is taken: walk only where something can be.
  for (int64_t i = start; forward ? i < stop : i > stop; i += bounds.step) {
    if (i >= 0 && i < size) indices.push_back(i);
    if (forward ? i >= size : i < 0) break;
  }
  return indices;
}

// Out-of-range starts are cut to the nearest end before stepping, unlike plain
// stepping.
std::vector<int64_t> CutIndices(Bounds bounds, int64_t size) {
  const bool forward = bounds.step > 0;
  if (bounds.start) {
    int64_t start = *bounds.start < 0 ? *bounds.start + size : *bounds.start;
    start = forward ? std::max<int64_t>(start, 0) : std::min(start, size - 1);
    if (start < 0) return {};
    bounds.start = start;
  }
  return PythonIndices(bounds, size);
}

TEST(IndexTest, SlicesLikePython) {
  for (int64_t size = 0; size < 6; ++size) {
    for (int64_t step = -3; step <= 3; ++step) {
      if (step == 0) continue;
      for (int64_t start = -8; start <= 8; ++start) {
        for (int64_t stop = -8; stop <= 8; ++stop) {
          Bounds bounds = {.start = start, .stop = stop, .step = step};
          if (start == 8) bounds.start.reset();
          if (stop == 8) bounds.stop.reset();
          std::vector<int32_t> expected;
          for (const int64_t i : CutIndices(bounds, size)) {
            expected.push_back(static_cast<int32_t>(i));
          }
          const Column result = *Slice(Constant(Counting({size})), bounds);
          ASSERT_THAT(result.Row(0)->As<int32_t>(), testing::ElementsAreArray(expected))
              << start << ":" << stop << ":" << step << " of " << size;
        }
      }
    }
  }
}

TEST(IndexTest, SlicesEveryLayoutAndAxis) {
  const core::Tensors rows = {Counting({3, 2}), Counting({3, 2}, 10)};
  const core::Tensors mixed = {Counting({3, 2}), Counting({2, 2}, 10)};
  for (const Column& column : Layouts(rows)) {
    EXPECT_EQ(Shown(Slice(Rows(column), {.start = 1})),
              "int32[2, 2] [2, 3, 4, 5]; int32[2, 2] [12, 13, 14, 15]");
    EXPECT_EQ(Shown(Slice(Rows(column), {.stop = 1, .axis = 1})),
              "int32[3, 1] [0, 2, 4]; int32[3, 1] [10, 12, 14]");
    EXPECT_EQ(Shown(Slice(Rows(column), {.step = -2})),
              "int32[2, 2] [4, 5, 0, 1]; int32[2, 2] [14, 15, 10, 11]");
  }
  for (const Column& column : Layouts(mixed)) {
    EXPECT_EQ(Shown(Slice(Rows(column), {.start = -1})),
              "int32[1, 2] [4, 5]; int32[1, 2] [12, 13]");
    EXPECT_EQ(Shown(Slice(Rows(column), {.start = 2})),
              "int32[1, 2] [4, 5]; int32[0, 2] []");
    EXPECT_EQ(Shown(Slice(Rows(column), {.step = -1, .axis = -1})),
              "int32[3, 2] [1, 0, 3, 2, 5, 4]; int32[2, 2] [11, 10, 13, 12]");
  }
}

TEST(IndexTest, SlicesTexts) {
  for (const Column& column :
       Layouts({Texts({"a", "bb", "c"}, {3}), Texts({"d"}, {1})})) {
    EXPECT_EQ(Shown(Slice(Rows(column), {.stop = 2})),
              "string[2] [\"a\", \"bb\"]; string[1] [\"d\"]");
    EXPECT_EQ(Shown(Slice(Rows(column), {.step = -1})),
              "string[3] [\"c\", \"bb\", \"a\"]; string[1] [\"d\"]");
    EXPECT_EQ(Shown(Slice(Rows(column), {.start = 5})), "string[0] []; string[0] []");
  }
}

TEST(IndexTest, SlicesWithAbsurdBounds) {
  const int64_t far = int64_t{1} << 62;
  const Input x = Constant(Counting({3}));
  EXPECT_EQ(Shown(Slice(x, {.start = -far, .stop = far, .step = far})), "int32[1] [0]");
  EXPECT_EQ(Shown(Slice(x, {.start = far, .stop = -far, .step = -far})),
            "int32[1] [2]");
  EXPECT_EQ(Shown(Slice(x, {.start = far})), "int32[0] []");
  EXPECT_THAT(Slice(x, {.start = INT64_MIN}),
              StatusIs(kInvalid, HasSubstr("at least")));
}

TEST(IndexTest, InfersWhatSlicesGive) {
  const auto infer = [&](const Shape& shape, const Bounds& bounds) {
    return InferKernel("slice", {{.dtype = DType::kUint8, .shape = shape}},
                       ArgumentsOf(bounds));
  };
  const auto type = [](const Shape& shape) {
    return ValueType{.dtype = DType::kUint8, .shape = shape};
  };
  EXPECT_THAT(infer({10, 3}, {.start = 2, .stop = 5}), IsOkAndHolds(type({3, 3})));
  EXPECT_THAT(infer({10, 3}, {.step = 4}), IsOkAndHolds(type({3, 3})));
  EXPECT_THAT(infer({10, 3}, {.start = 1, .axis = -1}), IsOkAndHolds(type({10, 2})));
  EXPECT_THAT(infer({kUnknownSize, 3}, {.stop = 5}),
              IsOkAndHolds(type({kUnknownSize, 3})));
  EXPECT_THAT(infer(Shape::Unranked(), {}), IsOkAndHolds(type(Shape::Unranked())));
  EXPECT_THAT(infer({10}, {.step = 0}), StatusIs(kInvalid, HasSubstr("must not be 0")));
  EXPECT_THAT(infer({10}, {.axis = 1}), StatusIs(kInvalid, HasSubstr("no axis 1")));
  EXPECT_THAT(infer({}, {}), StatusIs(kInvalid, HasSubstr("no axis 0")));
}

TEST(IndexTest, CopiesNoMoreThanItTakesOfLargeRows) {
  const Tensor large = Counting({1000, 100});
  const Column tensors = Column::OfTensors(DType::kInt32, {large});
  const Column part = *Slice(Rows(tensors), {.start = 10, .stop = 20});
  EXPECT_EQ(part.content_bytes(), 10 * 100 * 4);
}

}  // namespace
}  // namespace millrace::kernels
