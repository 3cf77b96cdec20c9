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

std::string Split(const std::vector<std::string>& texts,
                  const ir::Arguments& arguments = {}) {
  return Shown(CallKernel("split", {Rows(TextRows(texts))}, arguments));
}

TEST(TextPartsTest, SplitsAtWhiteSpace) {
  EXPECT_EQ(Split({" a  bc\td ", "", "  ", "x"}),
            "string[3] [\"a\", \"bc\", \"d\"]; string[0] []; string[0] []; "
            "string[1] [\"x\"]");
}

TEST(TextPartsTest, SplitsAtASeparator) {
  EXPECT_EQ(Split({"a,,b", ",", ""}, {{"separator", ","}}),
            "string[3] [\"a\", \"\", \"b\"]; string[2] [\"\", \"\"]; "
            "string[1] [\"\"]");
  EXPECT_EQ(Split({"a--b-c"}, {{"separator", "--"}}), "string[2] [\"a\", \"b-c\"]");
  EXPECT_THAT(Split({"a"}, {{"separator", ""}}),
              HasSubstr("argument separator must not be empty"));
}

TEST(TextPartsTest, SplitsOneTextPerRow) {
  EXPECT_THAT(InferKernel("split", {{DType::kString, {2}}}).status().ToString(),
              HasSubstr("needs one text per row"));
  Input rows = Rows(Column::OfTensors(
      DType::kString, {Tensor::Text("a b"), Tensor::FromTexts({"c"}, {1})}));
  rows.type.shape = Shape::Unranked();
  EXPECT_THAT(Shown(CallKernel("split", {rows})),
              HasSubstr("row 1: needs one text, not a value of shape [1]"));
}

TEST(TextPartsTest, JoinsTheLastAxis) {
  const Tensor texts = Tensor::FromTexts({"a", "b", "", "d"}, {2, 2});
  for (const Column& column : Layouts({texts, texts})) {
    EXPECT_EQ(Shown(CallKernel("join", {Rows(column)}, {{"separator", "-"}})),
              "string[2] [\"a-b\", \"-d\"]; string[2] [\"a-b\", \"-d\"]");
  }
  const Column ragged = Column::OfTensors(
      DType::kString, {Tensor::FromTexts({"a", "b"}, {2}), Tensor::FromTexts({}, {0})});
  EXPECT_EQ(Shown(CallKernel("join", {Rows(ragged)})), "string \"ab\"; string \"\"");
}

TEST(TextPartsTest, JoinsWhatSplitGives) {
  const absl::StatusOr<Column> parts =
      CallKernel("split", {Rows(TextRows({"a,b", ",,", "c"}))}, {{"separator", ","}});
  EXPECT_EQ(Shown(CallKernel("join", {Rows(*parts)}, {{"separator", ","}})),
            "string \"a,b\"; string \",,\"; string \"c\"");
}

TEST(TextPartsTest, NeedsAnAxisToJoin) {
  EXPECT_THAT(InferKernel("join", {{DType::kString, {}}}).status().ToString(),
              HasSubstr("text_join joins the texts of several fields"));
}

}  // namespace
}  // namespace millrace::kernels
