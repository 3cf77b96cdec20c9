#include "millrace/kernels/example/feature_rows.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/example/messages.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::kUnknownSize;
using core::Shape;
using testing::HasSubstr;

const ir::Arguments kFirst = {{"index", 0}, {"name", "a"}, {"shape", ir::List{}}};

std::string TypeError(const ir::ValueType& record, const ir::ValueType& entries,
                      int index = 0) {
  ir::Arguments arguments = kFirst;
  arguments.Set("index", index);
  return InferKernel("example_ints", {record, entries}, arguments).status().ToString();
}

TEST(FeatureRowsTest, ChecksTypes) {
  const ir::ValueType record = {.dtype = DType::kBytes, .shape = {}};
  const ir::ValueType entries = {.dtype = DType::kInt64, .shape = {3, 2}};
  EXPECT_EQ(TypeError(record, entries, 2), "OK");
  EXPECT_THAT(TypeError(record, entries, 3),
              HasSubstr("argument index is 3, but there are the places of 3 features"));
  EXPECT_EQ(TypeError({DType::kString, Shape::Unranked()},
                      {DType::kInt64, {kUnknownSize, kUnknownSize}}, 9),
            "OK");
  EXPECT_EQ(TypeError(record, {DType::kInt64, Shape::Unranked()}), "OK");
  EXPECT_THAT(TypeError({DType::kUint8, {}}, entries),
              HasSubstr("needs the bytes of one record"));
  EXPECT_THAT(TypeError({DType::kBytes, {4}}, entries),
              HasSubstr("needs the bytes of one record"));
  for (const ir::ValueType& wrong :
       {ir::ValueType{DType::kInt32, {3, 2}}, ir::ValueType{DType::kInt64, {3, 3}},
        ir::ValueType{DType::kInt64, {6}}}) {
    EXPECT_THAT(TypeError(record, wrong), HasSubstr("example_features"));
  }
}

// One record with one feature, and what is said of its place.
std::string ReadAt(const core::Tensor& entries) {
  const std::string record = ExampleOf({{"a", Ints({7})}});
  return Shown(
      CallKernel("example_ints",
                 {Rows(TextRows({record}, DType::kBytes)),
                  {.operand = {.column = Column::OfTensors(DType::kInt64, {entries})},
                   .type = {.dtype = DType::kInt64, .shape = Shape::Unranked()}}},
                 kFirst));
}

TEST(FeatureRowsTest, BelievesNoPlace) {
  EXPECT_EQ(ReadAt(core::Tensor::FromValues<int64_t>({4, 14}, {1, 2})), "int64 7");
  EXPECT_THAT(ReadAt(core::Tensor::FromValues<int64_t>({4, 99}, {1, 2})),
              HasSubstr("row 0: an entry from byte 4 to 99 is not in a record of 14"));
  EXPECT_THAT(ReadAt(core::Tensor::FromValues<int64_t>({9, 4}, {1, 2})),
              HasSubstr("is not in a record"));
  EXPECT_THAT(ReadAt(core::Tensor::FromValues<int64_t>({-5, 4}, {1, 2})),
              HasSubstr("is not in a record"));
  EXPECT_THAT(ReadAt(core::Tensor::FromValues<int64_t>({5, 14}, {1, 2})),
              HasSubstr("row 0: "));
  EXPECT_THAT(ReadAt(core::Tensor::FromValues<int64_t>({4, 14}, {2})),
              HasSubstr("places of entries have shape [2]"));
  EXPECT_THAT(ReadAt(core::Tensor::FromValues<int64_t>({}, {0, 2})),
              HasSubstr("which has no place 0"));
}

TEST(FeatureRowsTest, TakesOneRecordPerRow) {
  const Input entries = Constant(core::Tensor::FromValues<int64_t>({-1, -1}, {1, 2}));
  Input records = Rows(Column::OfTensors(
      DType::kBytes, {core::Tensor::FromTexts({"a", "b"}, {2}, DType::kBytes)}));
  records.type.shape = Shape::Unranked();
  EXPECT_THAT(Shown(CallKernel("example_ints", {records, entries}, kFirst)),
              HasSubstr("row 0: needs the bytes of one record, not a value of shape"));
}

}  // namespace
}  // namespace millrace::kernels
