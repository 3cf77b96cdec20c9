#include "millrace/kernels/regex/pattern.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "re2/re2.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"

namespace millrace::kernels {
namespace {

using testing::HasSubstr;

TEST(PatternTest, TellsWhatIsWrong) {
  EXPECT_THAT(CheckPattern("a+", PatternOf::kStrings), base::IsOk());
  EXPECT_THAT(CheckPattern("a(", PatternOf::kStrings).ToString(),
              HasSubstr("missing ): a("));
  EXPECT_THAT(CheckPattern("(?=a)", PatternOf::kBytes).ToString(),
              HasSubstr("is no regular expression"));
}

TEST(PatternTest, TakesNoMoreMemoryThanAllowed) {
  EXPECT_THAT(CheckPattern("((a{1000}){1000})", PatternOf::kStrings).ToString(),
              HasSubstr("is no regular expression"));
}

TEST(PatternTest, CutsNoCharactersOfStrings) {
  EXPECT_THAT(CheckPattern("a\\C", PatternOf::kStrings).ToString(),
              HasSubstr("would cut characters"));
  EXPECT_THAT(CheckPattern("a\\C", PatternOf::kBytes), base::IsOk());
  EXPECT_THAT(CheckPattern("a\\\\C", PatternOf::kStrings), base::IsOk());
}

TEST(PatternTest, KeepsTheFewThatWereUsedLast) {
  const re2::RE2* first = &CompiledPattern("first", PatternOf::kStrings);
  EXPECT_EQ(&CompiledPattern("first", PatternOf::kStrings), first);
  EXPECT_NE(&CompiledPattern("first", PatternOf::kBytes), first);
  for (int i = 0; i < 100; ++i) {
    const std::string pattern = base::StrCat("p", i);
    EXPECT_EQ(CompiledPattern(pattern, PatternOf::kBytes).pattern(), pattern);
  }
  EXPECT_EQ(CompiledPattern("first", PatternOf::kStrings).pattern(), "first");
}

}  // namespace
}  // namespace millrace::kernels
