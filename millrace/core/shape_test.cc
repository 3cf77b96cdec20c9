#include "millrace/core/shape.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::core {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr int64_t kAny = kUnknownSize;

// Every shape of up to two axes with these sizes.
std::vector<Shape> ShapesOf(const std::vector<int64_t>& sizes) {
  std::vector<Shape> shapes = {Shape()};
  for (const int64_t first : sizes) {
    shapes.push_back({first});
    for (const int64_t second : sizes) shapes.push_back({first, second});
  }
  return shapes;
}

const std::vector<Shape>& KnownShapes() {
  static const auto& shapes = *new std::vector<Shape>(ShapesOf({0, 1, 2, 3}));
  return shapes;
}

// Partly known ones too, and the one of unknown rank.
const std::vector<Shape>& AllShapes() {
  static const auto& shapes = *new std::vector<Shape>([] {
    std::vector<Shape> all = ShapesOf({kAny, 0, 1, 2, 3});
    all.push_back(Shape::Unranked());
    return all;
  }());
  return shapes;
}

// The known shapes that a partly known one may turn out to be.
std::vector<Shape> Possible(const Shape& shape) {
  std::vector<Shape> possible;
  for (const Shape& known : KnownShapes()) {
    bool fits = shape.rank() == known.rank();
    for (int axis = 0; fits && axis < shape.rank(); ++axis) {
      fits = shape[axis] == kAny || shape[axis] == known[axis];
    }
    if (fits) possible.push_back(known);
  }
  return possible;
}

// NumPy's rule for known shapes, word for word: align at the right, 1 stretches.
std::optional<Shape> BroadcastKnown(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> sizes(rank);
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - (rank - a.rank());
    const int in_b = axis - (rank - b.rank());
    const int64_t size_a = in_a < 0 ? 1 : a[in_a];
    const int64_t size_b = in_b < 0 ? 1 : b[in_b];
    if (size_a != size_b && size_a != 1 && size_b != 1) return std::nullopt;
    sizes[axis] = size_a == 1 ? size_b : size_a;
  }
  return Shape(sizes);
}

TEST(ShapeTest, AScalarHasNoAxesAndOneValue) {
  const Shape scalar;
  EXPECT_TRUE(scalar.ranked());
  EXPECT_TRUE(scalar.is_scalar());
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.Count(), 1);
  EXPECT_EQ(scalar.ToString(), "[]");
}

TEST(ShapeTest, HoldsItsSizesOutermostFirst) {
  const Shape shape = {32, kAny, 3};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[0], 32);
  EXPECT_EQ(shape[2], 3);
  EXPECT_THAT(shape.sizes(), ElementsAre(32, kAny, 3));
  EXPECT_FALSE(shape.is_scalar());
}

TEST(ShapeTest, PrintsUnknownSizesAsQuestionMarks) {
  EXPECT_EQ((Shape{2, kAny, 3}).ToString(), "[2, ?, 3]");
  EXPECT_EQ(Shape::Unranked().ToString(), "[...]");
  std::ostringstream out;
  out << Shape{7};
  EXPECT_EQ(out.str(), "[7]");
}

TEST(ShapeTest, IsKnownWhenEverySizeIs) {
  EXPECT_TRUE(Shape().IsKnown());
  EXPECT_TRUE((Shape{0, 3}).IsKnown());
  EXPECT_FALSE((Shape{2, kAny}).IsKnown());
  EXPECT_FALSE(Shape::Unranked().IsKnown());
}

TEST(ShapeTest, CountsItsValues) {
  EXPECT_EQ((Shape{2, 3, 4}).Count(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).Count(), 0);
  EXPECT_THAT((Shape{1 << 20, 1 << 20}).CountChecked(), IsOkAndHolds(1LL << 40));
}

TEST(ShapeTest, AnAbsurdCountIsAnErrorAndNotAWrap) {
  constexpr int64_t kHuge = int64_t{1} << 32;
  for (const Shape& shape :
       {Shape{kHuge, kHuge}, Shape{kHuge, kHuge, kHuge, kHuge}, Shape{INT64_MAX},
        Shape{3, INT64_MAX / 3, 5}, Shape{2, (int64_t{1} << 62) + 1}}) {
    EXPECT_THAT(shape.CountChecked(), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("shape is too large: [")));
  }
  EXPECT_DEATH((void)(Shape{kHuge, kHuge}).Count(), "too large");
}

TEST(ShapeTest, CountingWhatIsUnknownIsAProgrammingError) {
  EXPECT_DEATH((void)(Shape{2, kAny}).Count(), "\\?");
  EXPECT_DEATH((void)Shape::Unranked().Count(), "\\.\\.\\.");
}

TEST(ShapeTest, ShapesAreEqualWhenAllSizesAre) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, kAny}));
  EXPECT_NE(Shape(), Shape::Unranked());
  EXPECT_EQ(Shape::Unranked(), Shape::Unranked());
}

TEST(ShapeTest, AddsAndRemovesALeadingAxis) {
  EXPECT_EQ((Shape{3}).WithLeading(32), (Shape{32, 3}));
  EXPECT_EQ(Shape().WithLeading(kAny), (Shape{kAny}));
  EXPECT_EQ((Shape{32, 3}).WithoutLeading(), (Shape{3}));
  EXPECT_EQ(Shape::Unranked().WithLeading(2), Shape::Unranked());
  EXPECT_EQ(Shape::Unranked().WithoutLeading(), Shape::Unranked());
  EXPECT_DEATH((void)Shape().WithoutLeading(), "empty");
}

TEST(ShapeTest, KeepsManyAxes) {
  Shape shape;
  for (int64_t size = 1; size <= 12; ++size) shape = shape.WithLeading(size);
  EXPECT_EQ(shape.rank(), 12);
  EXPECT_EQ(shape[0], 12);
  EXPECT_EQ(shape.Count(), 479001600);  // 12!
}

TEST(ShapeTest, AdmitsWhatItMayTurnOutToBe) {
  for (const Shape& shape : AllShapes()) {
    for (const Shape& known : KnownShapes()) {
      const bool may =
          !shape.ranked() || std::ranges::count(Possible(shape), known) > 0;
      EXPECT_EQ(shape.Admits(known), may) << shape << " and " << known;
    }
  }
}

TEST(ShapeTest, AdmitsAPartlyKnownShapeOnlyIfItAdmitsAllOfIt) {
  for (const Shape& shape : AllShapes()) {
    EXPECT_TRUE(shape.Admits(shape)) << shape;
    EXPECT_TRUE(Shape::Unranked().Admits(shape)) << shape;
  }
  EXPECT_TRUE((Shape{kAny, 3}).Admits({kAny, 3}));
  EXPECT_FALSE((Shape{2, 3}).Admits({kAny, 3}));
  EXPECT_FALSE((Shape{kAny, 3}).Admits({kAny, kAny}));
  EXPECT_FALSE((Shape{kAny}).Admits(Shape::Unranked()));
}

TEST(ShapeTest, BroadcastsKnownShapesAsNumPyDoes) {
  for (const Shape& a : KnownShapes()) {
    for (const Shape& b : KnownShapes()) {
      EXPECT_EQ(Broadcast(a, b), BroadcastKnown(a, b)) << a << " with " << b;
    }
  }
  EXPECT_THAT(Broadcast({8, 1, 6, 1}, {7, 1, 5}), Optional(Shape{8, 7, 6, 5}));
}

// Of partly known shapes every outcome is tried: the result admits all of them, decides
// each size they agree on, and is nothing only when there is no outcome.
TEST(ShapeTest, BroadcastsUnknownSizesAsFarAsTheyAreDecided) {
  for (const Shape& a : AllShapes()) {
    for (const Shape& b : AllShapes()) {
      if (!a.ranked() || !b.ranked()) continue;
      std::vector<Shape> outcomes;
      for (const Shape& known_a : Possible(a)) {
        for (const Shape& known_b : Possible(b)) {
          if (const auto outcome = BroadcastKnown(known_a, known_b)) {
            outcomes.push_back(*outcome);
          }
        }
      }
      const std::optional<Shape> result = Broadcast(a, b);
      ASSERT_EQ(result.has_value(), !outcomes.empty()) << a << " with " << b;
      if (!result) continue;
      Shape tightest = outcomes[0];
      for (const Shape& outcome : outcomes) tightest = Join(tightest, outcome);
      EXPECT_EQ(*result, tightest) << a << " with " << b;
    }
  }
}

TEST(ShapeTest, BroadcastingAnUnknownRankGivesAnUnknownRank) {
  for (const Shape& shape : AllShapes()) {
    EXPECT_THAT(Broadcast(shape, Shape::Unranked()), Optional(Shape::Unranked()));
    EXPECT_THAT(Broadcast(Shape::Unranked(), shape), Optional(Shape::Unranked()));
  }
}

TEST(ShapeTest, BroadcastingDoesNotDependOnTheOrder) {
  for (const Shape& a : AllShapes()) {
    for (const Shape& b : AllShapes()) EXPECT_EQ(Broadcast(a, b), Broadcast(b, a));
  }
}

TEST(ShapeTest, JoinIsTheClosestShapeThatAdmitsBoth) {
  for (const Shape& a : AllShapes()) {
    for (const Shape& b : AllShapes()) {
      const Shape join = Join(a, b);
      EXPECT_TRUE(join.Admits(a) && join.Admits(b)) << a << " with " << b;
      EXPECT_EQ(join, Join(b, a));
      for (const Shape& other : AllShapes()) {
        if (other.Admits(a) && other.Admits(b)) {
          EXPECT_TRUE(other.Admits(join)) << a << " with " << b << " and " << other;
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace::core
