#include "millrace/ops/transform/one_spec.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::StatusIs;
using core::DType;
using core::FieldSpec;
using core::Shape;
using core::Spec;
using ::testing::AllOf;
using ::testing::HasSubstr;

FieldSpec Field(const std::string& name, DType dtype, Shape shape = {}) {
  return {.name = name, .dtype = dtype, .shape = std::move(shape)};
}

Spec Only(DType dtype, Shape shape) {
  return Spec({Field("a", dtype, std::move(shape))});
}

TEST(OneSpecTest, OneInputIsAsItIs) {
  const Spec spec = Only(DType::kInt64, {3, 4});
  EXPECT_EQ(*OneSpec({spec}), spec);
}

TEST(OneSpecTest, EqualInputsStayAsTheyAre) {
  const Spec spec({Field("a", DType::kInt64), Field("b", DType::kFloat32, {2})});
  EXPECT_EQ(*OneSpec({spec, spec, spec}), spec);
}

TEST(OneSpecTest, SizesThatDifferAreUnknown) {
  const absl::StatusOr<Spec> spec =
      OneSpec({Only(DType::kUint8, {4, 3}), Only(DType::kUint8, {5, 3}),
               Only(DType::kUint8, {4, 3})});
  EXPECT_EQ(*spec, Only(DType::kUint8, {core::kUnknownSize, 3}));
}

TEST(OneSpecTest, ARankThatIsNotKnownStaysSo) {
  const Spec ranked = Only(DType::kUint8, {4, 3});
  const Spec unranked = Only(DType::kUint8, Shape::Unranked());
  EXPECT_EQ(*OneSpec({ranked, unranked}), unranked);
  EXPECT_EQ(*OneSpec({unranked, ranked, ranked}), unranked);
}

TEST(OneSpecTest, TypesThatDifferAreNamed) {
  EXPECT_THAT(
      OneSpec({Only(DType::kInt64, {}), Only(DType::kInt64, {}),
               Only(DType::kFloat32, {})}),
      StatusIs(kInvalidArgument,
               AllOf(HasSubstr("field a is"), HasSubstr("int64"), HasSubstr("float32"),
                     HasSubstr("in input 2"), HasSubstr("use map, select or rename"))));
}

TEST(OneSpecTest, RanksThatDifferAreNamed) {
  EXPECT_THAT(OneSpec({Only(DType::kInt64, {2}), Only(DType::kInt64, {2, 2})}),
              StatusIs(kInvalidArgument, HasSubstr("field a is")));
}

TEST(OneSpecTest, FieldsInAnotherOrderAreOthers) {
  const Spec ab({Field("a", DType::kInt64), Field("b", DType::kInt64)});
  const Spec ba({Field("b", DType::kInt64), Field("a", DType::kInt64)});
  EXPECT_THAT(OneSpec({ab, ba}), StatusIs(kInvalidArgument, HasSubstr("field a")));
}

TEST(OneSpecTest, FieldsThatOneInputLacksAreNamed) {
  const Spec ab({Field("a", DType::kInt64), Field("b", DType::kInt64)});
  EXPECT_THAT(OneSpec({ab, Only(DType::kInt64, {})}),
              StatusIs(kInvalidArgument, AllOf(HasSubstr("input 0 has a, b"),
                                               HasSubstr("input 1 has a"))));
}

}  // namespace
}  // namespace millrace::ops
