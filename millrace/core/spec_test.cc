#include "millrace/core/spec.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/plain_rows_test.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::core {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

constexpr int64_t kAny = kUnknownSize;

Spec ImageSpec() {
  return Spec(
      {{.name = "image.pixels", .dtype = DType::kUint8, .shape = {kAny, kAny, 3}},
       {.name = "label", .dtype = DType::kInt64, .shape = {}}});
}

FieldSpec Field(DType dtype, const Shape& shape) {
  return {.name = "x", .dtype = dtype, .shape = shape};
}

Column Ints(const std::vector<int32_t>& values) {
  return Column::Dense(DType::kInt32, std::ssize(values), {}, BufferOf(values));
}

// Rows of 2 and 1 values.
Column RaggedInts() {
  return Ints({1, 2, 3}).Nest(2, {Level::Variable(BufferOf<int64_t>({0, 2, 3}))});
}

// What the check should say: whether the plain value has these sizes along its axes.
bool Fits(const Plain& value, const Shape& shape, int axis = 0) {
  if (axis == shape.rank()) return !value.is_list;
  if (!value.is_list) return false;
  if (shape[axis] != kAny && shape[axis] != std::ssize(value.list)) return false;
  for (const Plain& part : value.list) {
    if (!Fits(part, shape, axis + 1)) return false;
  }
  return true;
}

bool HasEmptyList(const Plain& value) {
  return (value.is_list && value.list.empty()) ||
         std::ranges::any_of(value.list, HasEmptyList);
}

TEST(SpecTest, FindsFieldsByName) {
  const Spec spec = ImageSpec();
  ASSERT_NE(spec.Find("label"), nullptr);
  EXPECT_EQ(spec.Find("label")->dtype, DType::kInt64);
  EXPECT_EQ(spec.Find("image"), nullptr);  // A path is one name.
  EXPECT_EQ(spec.Find(""), nullptr);
  EXPECT_EQ(Spec().Find("label"), nullptr);
}

TEST(SpecTest, PrintsFieldsTypesAndShapes) {
  EXPECT_EQ(ImageSpec().ToString(), "{image.pixels: uint8[?, ?, 3], label: int64}");
  EXPECT_EQ(ImageSpec().Names(), "image.pixels, label");
  EXPECT_EQ(Spec().ToString(), "{}");
  EXPECT_EQ(Spec().Names(), "");
  const Spec unranked({Field(DType::kString, Shape::Unranked())});
  std::ostringstream out;
  out << unranked;
  EXPECT_EQ(out.str(), "{x: string[...]}");
}

TEST(SpecTest, ABatchHasOneAxisMoreInFront) {
  EXPECT_EQ(ImageSpec().Stacked(32).ToString(),
            "{image.pixels: uint8[32, ?, ?, 3], label: int64[32]}");
  EXPECT_EQ(ImageSpec().Stacked(kAny).ToString(),
            "{image.pixels: uint8[?, ?, ?, 3], label: int64[?]}");
  EXPECT_EQ(Spec({Field(DType::kBool, Shape::Unranked())}).Stacked(2).ToString(),
            "{x: bool[...]}");
}

TEST(SpecTest, SpecsAreEqualWhenAllFieldsAre) {
  EXPECT_EQ(ImageSpec(), ImageSpec());
  EXPECT_FALSE(ImageSpec() == ImageSpec().Stacked(1));
  EXPECT_FALSE(ImageSpec() == Spec());
  EXPECT_FALSE(Field(DType::kInt8, {}) == Field(DType::kUint8, {}));
}

TEST(SpecTest, FieldNamesArePaths) {
  for (const std::string name :
       {"x", "image", "image.pixels", "a.b.c", "ein Bild", "0"}) {
    EXPECT_THAT(CheckFieldName(name), IsOk()) << name;
  }
  EXPECT_THAT(CheckFieldName(std::string(256, 'x')), IsOk());
}

TEST(SpecTest, OtherNamesAreErrors) {
  EXPECT_THAT(CheckFieldName(""),
              StatusIs(absl::StatusCode::kInvalidArgument, "a field's name is empty"));
  for (const std::string name : {".", ".x", "x.", "a..b"}) {
    EXPECT_THAT(CheckFieldName(name), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("empty step: " + name)));
  }
  EXPECT_THAT(
      CheckFieldName(std::string(257, 'x')),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("longer than 256")));
}

TEST(SpecTest, AdmitsColumnsOfItsTypeAndShape) {
  const Column dense = Ints({1, 2, 3, 4}).Stack(2);
  for (const Shape& shape : {Shape{2}, Shape{kAny}, Shape::Unranked()}) {
    EXPECT_THAT(CheckAdmits(Field(DType::kInt32, shape), dense), IsOk()) << shape;
  }
}

TEST(SpecTest, RefusesOtherTypesAndShapesInWords) {
  const Column dense = Ints({1, 2, 3, 4}).Stack(2);
  EXPECT_THAT(CheckAdmits(Field(DType::kInt64, {2}), dense),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "field x should be int64[2] but is int32[2]"));
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {3}), dense),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "field x should be int32[3] but is int32[2]"));
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {}), dense),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "field x should be int32 but is int32[2]"));
}

TEST(SpecTest, RaggedColumnsFitWhereTheSizeIsUnknown) {
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {kAny}), RaggedInts()), IsOk());
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {2}), RaggedInts()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "field x should be int32[2] but is int32[1]"));
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {2}), RaggedInts().Slice(0, 1)), IsOk());
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {}), RaggedInts()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "field x should be int32 but is int32[?]"));
}

TEST(SpecTest, RaggedBatchesFitThoughTheyAreNotRectangular) {
  const Column batch = RaggedInts().Stack(2);
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {2, kAny}), batch), IsOk());
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {kAny, kAny}), batch), IsOk());
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {3, kAny}), batch),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {2, 2}), batch),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(SpecTest, TensorsAreCheckedOneByOne) {
  const Column tensors =
      Column::OfTensors(DType::kInt32, {Tensor::FromValues<int32_t>({1, 2}, {2, 1}),
                                        Tensor::FromValues<int32_t>({3}, {1, 1})});
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {kAny, 1}), tensors), IsOk());
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {2, 1}), tensors),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "field x should be int32[2, 1] but is int32[1, 1]"));
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {2, 1}), tensors.Slice(0, 1)), IsOk());
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {2, kAny, 1}), tensors.Stack(2)),
              IsOk());
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {2, 2, 1}), tensors.Stack(2)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "field x should be int32[2, 2, 1] but is int32[?, 1, 1]"));
}

TEST(SpecTest, OfASliceOnlyItsOwnRowsAreChecked) {
  const Column tensors = Column::OfTensors(
      DType::kInt32, {Tensor::FromValues<int32_t>({1, 2}, {2}), Tensor::Scalar(3)});
  const Column lists = tensors.Nest(2, {Level::Variable(BufferOf<int64_t>({0, 1, 2}))});
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {1}), lists.Slice(1, 1)), IsOk());
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {1}), lists),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {2}), RaggedInts().Slice(0, 1)), IsOk());
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {1}), RaggedInts().Slice(1, 1)), IsOk());
}

TEST(SpecTest, OfNoRowsTheLayoutIsChecked) {
  const Column none = Ints({1, 2}).Stack(2).Slice(0, 0);
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {2}), none), IsOk());
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {3}), none),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckAdmits(Field(DType::kInt32, {3}), RaggedInts().Slice(1, 0)), IsOk());
}

TEST(SpecTest, AdmitsExactlyWhatEveryRowFits) {
  int admitted = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    RandomSamples random(seed);
    const auto rank = static_cast<int>(random.Below(4));
    const Sample sample = random.Sliced(kAllLayouts[seed % std::size(kAllLayouts)],
                                        DType::kInt16, rank, 1 + random.Below(3));
    Shape shape;
    for (int64_t axis = 0; axis < rank + (random.Below(10) == 0 ? 1 : 0); ++axis) {
      shape = shape.WithLeading(random.Below(2) == 0 ? kAny : random.Below(4));
    }
    bool fits = true;
    for (const Plain& row : sample.rows) fits = fits && Fits(row, shape);
    const bool told = CheckAdmits(Field(DType::kInt16, shape), sample.column).ok();
    admitted += static_cast<int>(told);
    // An empty list fits any shape of what it would hold; the layout may know better.
    const bool full = std::ranges::none_of(sample.rows, HasEmptyList);
    if (full || told) {
      EXPECT_EQ(told, fits) << shape;
    }
  }
  EXPECT_GT(admitted, 100);
}

}  // namespace
}  // namespace millrace::core
