#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using testing::HasSubstr;

std::string Read(const std::vector<std::string>& texts, const std::string& dtype) {
  return Shown(CallKernel("to_number", {Rows(TextRows(texts))}, {{"dtype", dtype}}));
}

TEST(ToNumberTest, ReadsIntegers) {
  EXPECT_EQ(Read({"0", " -7 ", "+12", "9223372036854775807"}, "int64"),
            "int64 0; int64 -7; int64 12; int64 9223372036854775807");
  EXPECT_EQ(Read({"255"}, "uint8"), "uint8 255");
}

TEST(ToNumberTest, ReadsFloatsToTheLastBit) {
  EXPECT_EQ(Read({"0.1", "1e3", "-.5", "inf", "nan"}, "float64"),
            "float64 0.1; float64 1000.0; float64 -0.5; float64 inf; float64 nan");
  EXPECT_EQ(Read({"16777217.0000001"}, "float32"), "float32 16777218.0");
}

TEST(ToNumberTest, NamesTheTextThatIsNone) {
  EXPECT_THAT(Read({"1", "one"}, "int64"), HasSubstr("row 1: \"one\" is no int64"));
  for (const std::string text :
       {"", " ", "1 2", "1.5", "0x10", "+-1", "--1", "1,000"}) {
    EXPECT_THAT(Read({text}, "int32"), HasSubstr("row 0: ")) << text;
  }
  for (const std::string text : {"", "1e", "1.5x", "+-1"}) {
    EXPECT_THAT(Read({text}, "float32"), HasSubstr("is no float32")) << text;
  }
}

TEST(ToNumberTest, TellsWhatIsOutOfRange) {
  EXPECT_THAT(Read({"256"}, "uint8"),
              HasSubstr("\"256\" is out of the range of uint8"));
  EXPECT_THAT(Read({"9223372036854775808"}, "int64"), HasSubstr("out of the range"));
  EXPECT_THAT(Read({"1e999"}, "float64"), HasSubstr("out of the range"));
  EXPECT_THAT(Read({"-1"}, "uint8"), HasSubstr("\"-1\" is no uint8"));
}

TEST(ToNumberTest, ReadsValuesOfAnyShape) {
  const Tensor texts = Tensor::FromTexts({"1", "2", "3", "4"}, {2, 2});
  for (const Column& column : Layouts({texts})) {
    EXPECT_EQ(Shown(CallKernel("to_number", {Rows(column)}, {{"dtype", "int8"}})),
              "int8[2, 2] [1, 2, 3, 4]");
  }
  EXPECT_THAT(InferKernel("to_number", {{DType::kString, {}}}, {{"dtype", "bool"}})
                  .status()
                  .ToString(),
              HasSubstr("must be one of"));
}

}  // namespace
}  // namespace millrace::kernels
