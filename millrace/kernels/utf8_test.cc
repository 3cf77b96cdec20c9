#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using testing::HasSubstr;

std::string Call(const std::string& kernel, const std::vector<std::string>& texts,
                 DType dtype) {
  return Shown(CallKernel(kernel, {Rows(TextRows(texts, dtype))}));
}

TEST(Utf8Test, TellsWhatIsValid) {
  EXPECT_EQ(Call("is_utf8", {"a", "\xC3\xBC", "\xC3", ""}, DType::kBytes),
            "bool true; bool true; bool false; bool true");
}

TEST(Utf8Test, MakesStringsAndTellsTheWrongByte) {
  EXPECT_EQ(Call("check_utf8", {"a\xC3\xBC"}, DType::kBytes), "string \"a\\xc3\\xbc\"");
  EXPECT_THAT(Call("check_utf8", {"good", "abc\xFFz"}, DType::kBytes),
              HasSubstr("row 1: bytes are not valid UTF-8 from byte 3 on"));
}

TEST(Utf8Test, CountsCharacters) {
  EXPECT_EQ(
      Call("character_length", {"", "abc", "\xC3\xBC\xE2\x82\xAC"}, DType::kString),
      "int64 0; int64 3; int64 2");
  EXPECT_THAT(Call("character_length", {"a"}, DType::kBytes),
              HasSubstr("check_utf8 makes them of bytes"));
}

}  // namespace
}  // namespace millrace::kernels
