#include "millrace/plugin/c_values.h"

#include <absl/types/span.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
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
#include "millrace/plugin/millrace_plugin.h"

namespace millrace::plugin {
namespace {

std::string_view TextAt(const MillraceValue& value, int64_t i) {
  return {static_cast<const char*>(value.data) + value.offsets[i],
          static_cast<size_t>(value.offsets[i + 1] - value.offsets[i])};
}

TEST(CValuesTest, TypesGoThereAndBack) {
  for (const core::DType dtype : core::kAllDTypes) {
    for (const core::Shape& shape :
         {core::Shape(), core::Shape({3, -1, 0}), core::Shape::Unranked()}) {
      const auto back = FromC(ToC(dtype, shape));
      ASSERT_THAT(back, base::IsOk());
      EXPECT_EQ(*back, (ir::ValueType{.dtype = dtype, .shape = shape}));
    }
  }
}

TEST(CValuesTest, AShapeOfAbsurdSizeIsNoType) {
  EXPECT_FALSE(
      FromC(ToC(core::DType::kInt8, {int64_t{1} << 40, int64_t{1} << 40})).ok());
}

TEST(CValuesTest, ViewsEveryLayoutOfRows) {
  const std::vector<std::vector<core::Tensor>> all = {
      {core::Tensor::Scalar<int32_t>(7), core::Tensor::Scalar<int32_t>(-1)},
      {core::Tensor::FromValues<int32_t>({1, 2}, {2}),
       core::Tensor::FromValues<int32_t>({7, 8, 9}, {3})},
      {core::Tensor::FromValues<int32_t>({1, 2}, {2, 1}),
       core::Tensor::FromValues<int32_t>({7, 8, 9}, {1, 3})},
  };
  for (const std::vector<core::Tensor>& rows : all) {
    const auto column = core::FromRows(core::DType::kInt32, rows, core::HeapPool());
    ASSERT_THAT(column, base::IsOk());
    const auto views = RowViews::Of(*column, 2);
    ASSERT_THAT(views, base::IsOk());
    for (size_t row = 0; row < 2; ++row) {
      const MillraceValue& view = views->values()[row];
      EXPECT_EQ(view.rank, rows[row].shape().rank());
      EXPECT_EQ(absl::MakeConstSpan(view.sizes, view.rank), rows[row].shape().sizes());
      EXPECT_EQ(absl::MakeConstSpan(static_cast<const int32_t*>(view.data), view.count),
                rows[row].As<int32_t>());
    }
  }
}

TEST(CValuesTest, ViewsTextsOfAnyShape) {
  const auto column = core::FromRows(
      core::DType::kString,
      {core::Tensor::FromTexts({"a", ""}, {2}), core::Tensor::FromTexts({"bcd"}, {1})},
      core::HeapPool());
  ASSERT_THAT(column, base::IsOk());
  const auto views = RowViews::Of(*column, 2);
  ASSERT_THAT(views, base::IsOk());
  EXPECT_EQ(TextAt(views->values()[0], 0), "a");
  EXPECT_EQ(TextAt(views->values()[0], 1), "");
  EXPECT_EQ(TextAt(views->values()[1], 0), "bcd");
}

TEST(CValuesTest, ViewsSingleTextsAlsoInTheMiddleOfAColumn) {
  const auto column = core::FromRows(core::DType::kBytes,
                                     {core::Tensor::Text("a", core::DType::kBytes),
                                      core::Tensor::Text("", core::DType::kBytes),
                                      core::Tensor::Text("bcd", core::DType::kBytes)},
                                     core::HeapPool());
  ASSERT_THAT(column, base::IsOk());
  const core::Column part = column->Slice(1, 2);
  const auto views = RowViews::Of(part, 2);
  ASSERT_THAT(views, base::IsOk());
  EXPECT_EQ(views->values()[0].count, 1);
  EXPECT_EQ(TextAt(views->values()[0], 0), "");
  EXPECT_EQ(TextAt(views->values()[1], 0), "bcd");
}

TEST(CValuesTest, AConstantStandsForAllRows) {
  const auto column =
      core::FromRows(core::DType::kString, {core::Tensor::Text("x")}, core::HeapPool());
  ASSERT_THAT(column, base::IsOk());
  const auto views = RowViews::Of(*column, 3, /*constant=*/true);
  ASSERT_THAT(views, base::IsOk());
  EXPECT_EQ(TextAt(views->values()[2], 0), "x");
}

TEST(CValuesTest, ARowWithoutARegularShapeIsNamed) {
  const auto ragged =
      core::FromRows(core::DType::kInt32,
                     {core::Tensor::FromValues<int32_t>({1, 2}, {2}),
                      core::Tensor::FromValues<int32_t>({7, 8, 9}, {3})},
                     core::HeapPool());
  ASSERT_THAT(ragged, base::IsOk());
  EXPECT_THAT(RowViews::Of(ragged->Stack(2), 1),
              base::StatusIs(absl::StatusCode::kDataLoss, testing::HasSubstr("row 0")));
}

TEST(CValuesTest, AnErrorWithoutAnEndIsCut) {
  MillraceError error = {};
  EXPECT_EQ(TextOf(error), "it fails and does not say why");
  std::memset(error.text, 'x', sizeof(error.text));
  EXPECT_EQ(TextOf(error), std::string(sizeof(error.text), 'x'));
}

}  // namespace
}  // namespace millrace::plugin
