#include <cstdint>
#include <string>
#include <vector>

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

std::string Edit(const std::string& kernel, const std::vector<std::string>& texts,
                 const ir::Arguments& arguments = {}, DType dtype = DType::kString) {
  return Shown(CallKernel(kernel, {Rows(TextRows(texts, dtype))}, arguments));
}

TEST(TextEditTest, RaisesLettersOfAscii) {
  EXPECT_EQ(Edit("upper", {"aZ-1", "", "\xC3\xBC"}),
            "string \"AZ-1\"; string \"\"; string \"\\xc3\\xbc\"");
  EXPECT_EQ(Edit("upper", {"\xFFz"}, {}, DType::kBytes), "bytes \"\\xffZ\"");
}

TEST(TextEditTest, StripsBothEnds) {
  EXPECT_EQ(Edit("strip", {" \t a b\n", "", "   "}),
            "string \"a b\"; string \"\"; string \"\"");
  EXPECT_EQ(Edit("strip", {" a "}, {{"side", "left"}}), "string \"a \"");
  EXPECT_EQ(Edit("strip", {" a ", "  "}, {{"side", "right"}}),
            "string \" a\"; string \"\"");
  EXPECT_EQ(Edit("strip", {"xyaxb", "yx"}, {{"characters", "xy"}}),
            "string \"axb\"; string \"\"");
  EXPECT_EQ(Edit("strip", {" a "}, {{"characters", ""}}), "string \" a \"");
}

TEST(TextEditTest, StripsNoPartOfACharacter) {
  EXPECT_THAT(Edit("strip", {"a"}, {{"characters", "\xC3\xBC"}}),
              HasSubstr("argument characters must be ASCII"));
}

TEST(TextEditTest, ReplacesFromLeftToRight) {
  EXPECT_EQ(Edit("replace", {"aaa", "", "xaay"}, {{"old", "aa"}, {"new", "b"}}),
            "string \"ba\"; string \"\"; string \"xby\"");
  EXPECT_EQ(Edit("replace", {"a.b.c"}, {{"old", "."}, {"new", ""}}), "string \"abc\"");
  EXPECT_EQ(Edit("replace", {"aa"}, {{"old", "a"}, {"new", "aa"}}), "string \"aaaa\"");
  EXPECT_THAT(Edit("replace", {"a"}, {{"old", ""}, {"new", "b"}}),
              HasSubstr("argument old must not be empty"));
}

TEST(TextEditTest, NeedsTexts) {
  for (const std::string kernel : {"upper", "strip"}) {
    EXPECT_THAT(Shown(CallKernel(kernel, {Rows(ScalarRows<int64_t>({1}))})),
                HasSubstr("needs"));
  }
}

}  // namespace
}  // namespace millrace::kernels
