#include "millrace/ops/source/packed_rows.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"

namespace millrace::ops {
namespace {

using base::StatusIs;
using core::Shape;
using core::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Tensor Of(const std::vector<int64_t>& values, const Shape& shape) {
  return Tensor::FromValues<int64_t>(absl::MakeConstSpan(values), shape);
}

// The rows of a field after they were packed.
std::vector<Tensor> Again(const std::vector<Tensor>& values) {
  std::vector<GivenRow> rows;
  for (const Tensor& value : values) rows.push_back({{"x", value}});
  const PackedRows packed = *PackRows(rows);
  const core::Column column =
      *ReadColumn(packed.values[0], *ReadShapes(packed.shapes[0]));
  std::vector<Tensor> again;
  for (int64_t row = 0; row < column.rows(); ++row) again.push_back(*column.Row(row));
  return again;
}

TEST(PackedRowsTest, EveryKindOfRowComesBack) {
  for (const std::vector<Tensor>& rows : std::vector<std::vector<Tensor>>{
           {Of({7}, {}), Of({8}, {})},
           {Of({1, 2, 3}, {3}), Of({}, {0}), Of({4}, {1})},
           {Of({1, 2}, {1, 2}), Of({1, 2, 3, 4}, {2, 2}), Of({}, {0, 5})},
           {Tensor::Text("a"), Tensor::Text(""), Tensor::Text("bcd")},
           {Tensor::Text("a", core::DType::kBytes),
            Tensor::Text(std::string("\0\xff", 2), core::DType::kBytes)},
           {Tensor::FromTexts({"a", "bc"}, {2}), Tensor::FromTexts({}, {0})}}) {
    EXPECT_EQ(Again(rows), rows);
  }
}

TEST(PackedRowsTest, FieldsMayComeInAnyOrder) {
  const PackedRows packed = *PackRows({{{"a", Of({1}, {})}, {"b", Of({2}, {})}},
                                       {{"b", Of({4}, {})}, {"a", Of({3}, {})}}});
  EXPECT_THAT(packed.names, ElementsAre("a", "b"));
  EXPECT_EQ(*ir::DecodeTensor(packed.values[0]), Of({1, 3}, {2}));
}

TEST(PackedRowsTest, ARowThatIsNotLikeTheFirstIsNamedWithItsField) {
  const GivenRow good = {{"a", Of({1}, {})}, {"b", Tensor::Text("x")}};
  const auto packed_with = [&](const GivenRow& row) {
    return PackRows({good, good, row}).status();
  };
  EXPECT_THAT(packed_with({{"a", Of({1}, {})}}),
              StatusIs(kInvalid, "row 2 has no field b, which row 0 has"));
  EXPECT_THAT(packed_with({{"a", Of({1}, {})}, {"b", Of({1}, {})}}),
              StatusIs(kInvalid,
                       "row 2: field b is int64 with 0 axes, but in row 0 it "
                       "is string with 0 axes"));
  EXPECT_THAT(packed_with({{"a", Of({1}, {1})}, {"b", Tensor::Text("x")}}),
              StatusIs(kInvalid,
                       "row 2: field a is int64 with 1 axis, but in row 0 it "
                       "is int64 with 0 axes"));
  EXPECT_THAT(
      packed_with({{"a", Of({1}, {})}, {"b", Tensor::Text("x")}, {"c", Of({1}, {})}}),
      StatusIs(kInvalid, "row 2 has a field c, which row 0 has not"));
  EXPECT_THAT(
      packed_with({{"a", Of({1}, {})}, {"b", Tensor::Text("x")}, {"a", Of({1}, {})}}),
      StatusIs(kInvalid, "row 2 has the field a twice"));
  EXPECT_THAT(PackRows({}), StatusIs(kInvalid, HasSubstr("one row at least")));
}

TEST(PackedRowsTest, AFieldTwiceInTheFirstRowIsAnErrorToo) {
  const GivenRow twice = {{"a", Of({1}, {})}, {"a", Of({1}, {})}};
  EXPECT_THAT(PackRows({twice}), StatusIs(kInvalid, "row 0 has the field a twice"));
}

TEST(PackedRowsTest, ShapesThatAreNoneAreRefused) {
  const auto read = [](const Tensor& shapes) {
    return ReadShapes(ir::EncodeTensor(shapes)).status();
  };
  EXPECT_THAT(read(Of({1, 2}, {2})),
              StatusIs(kInvalid, HasSubstr("int64[rows, axes]")));
  EXPECT_THAT(read(Tensor::Text("a")), StatusIs(kInvalid));
  EXPECT_THAT(read(Of({1, -1}, {2, 1})), StatusIs(kInvalid, HasSubstr("in row 1")));
  EXPECT_THAT(read(Of({int64_t{1} << 40, int64_t{1} << 40}, {1, 2})),
              StatusIs(kInvalid, HasSubstr("in row 0")));
}

TEST(PackedRowsTest, ValuesThatDoNotFitTheShapesAreRefused) {
  const ir::Attachment values = ir::EncodeTensor(Of({1, 2, 3}, {3}));
  EXPECT_THAT(ReadColumn(values, {Shape({1}), Shape({2})}), base::IsOk());
  EXPECT_THAT(ReadColumn(values, {Shape({1}), Shape({1})}), StatusIs(kInvalid));
  EXPECT_THAT(ReadColumn(values, {Shape({1}), Shape({3})}), StatusIs(kInvalid));
  EXPECT_THAT(ReadColumn(ir::EncodeTensor(Of({1, 2}, {1, 2})), {Shape({2})}),
              StatusIs(kInvalid));
}

}  // namespace
}  // namespace millrace::ops
