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

std::string Call(const std::string& kernel, const std::vector<std::string>& texts,
                 const ir::Arguments& arguments, DType dtype = DType::kString) {
  return Shown(CallKernel(kernel, {Rows(TextRows(texts, dtype))}, arguments));
}

TEST(RegexKernelsTest, MatchAPartOrTheWhole) {
  EXPECT_EQ(Call("regex_match", {"abc", "b", ""}, {{"pattern", "b"}}),
            "bool true; bool true; bool false");
  EXPECT_EQ(Call("regex_match", {"abc", "b"}, {{"pattern", "b"}, {"whole", true}}),
            "bool false; bool true");
}

TEST(RegexKernelsTest, ReplaceEveryMatch) {
  EXPECT_EQ(Call("regex_replace", {"a1b22", ""}, {{"pattern", "\\d+"}, {"new", "#"}}),
            "string \"a#b#\"; string \"\"");
  EXPECT_EQ(Call("regex_replace", {"ab"}, {{"pattern", "(a)(b)"}, {"new", "\\2\\1"}}),
            "string \"ba\"");
  EXPECT_THAT(Call("regex_replace", {"ab"}, {{"pattern", "a"}, {"new", "\\1"}}),
              HasSubstr("argument new is wrong"));
}

TEST(RegexKernelsTest, ExtractAGroup) {
  const ir::Arguments key = {{"pattern", "(\\w+)=(\\w+)"}, {"group", 2}};
  EXPECT_EQ(Call("regex_extract", {"x: key=value", "none"}, key),
            "string \"value\"; string \"\"");
  EXPECT_EQ(Call("regex_extract", {"key=value"}, {{"pattern", "\\w+="}}),
            "string \"key=\"");
  // A group that took no part in the match.
  EXPECT_EQ(Call("regex_extract", {"b"}, {{"pattern", "(a)|b"}, {"group", 1}}),
            "string \"\"");
  EXPECT_THAT(Call("regex_extract", {"a"}, {{"pattern", "a"}, {"group", 1}}),
              HasSubstr("argument group is 1, but the pattern has 0 groups"));
}

TEST(RegexKernelsTest, SplitAtMatches) {
  EXPECT_EQ(Call("regex_split", {"a1b22c", "", "1"}, {{"pattern", "\\d+"}}),
            "string[3] [\"a\", \"b\", \"c\"]; string[1] [\"\"]; "
            "string[2] [\"\", \"\"]");
  EXPECT_EQ(Call("regex_split", {"abc"}, {{"pattern", "x*"}}), "string[1] [\"abc\"]");
  EXPECT_EQ(Call("regex_split", {"axxb"}, {{"pattern", "x*"}}),
            "string[2] [\"a\", \"b\"]");
}

TEST(RegexKernelsTest, MatchCharactersOfStringsAndBytesOfBytes) {
  const ir::Arguments one = {{"pattern", "."}, {"whole", true}};
  EXPECT_EQ(Call("regex_match", {"\xC3\xBC"}, one), "bool true");
  EXPECT_EQ(Call("regex_match", {"\xC3\xBC", "\xFF"}, one, DType::kBytes),
            "bool false; bool true");
}

TEST(RegexKernelsTest, FindWrongPatternsBeforeAnyRow) {
  for (const std::string kernel : {"regex_match", "regex_extract", "regex_split"}) {
    EXPECT_THAT(InferKernel(kernel, {{DType::kString, {}}}, {{"pattern", "(a"}})
                    .status()
                    .ToString(),
                HasSubstr("argument pattern is no regular expression: missing )"));
  }
}

}  // namespace
}  // namespace millrace::kernels
