#include "millrace/base/text.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace millrace::base {
namespace {

TEST(TextTest, JoinsEveryKindOfText) {
  EXPECT_EQ(StrCat("a", std::string("b"), std::string_view("c"), absl::string_view("d"),
                   1, int64_t{-2}, 0.5),
            "abcd1-20.5");
  EXPECT_EQ(StrCat(), "");
}

TEST(TextTest, ViewsTheSameCharacters) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(ToAbsl(text).data(), text.data());
  EXPECT_EQ(ToAbsl(text).size(), 3);
  EXPECT_EQ(ToStd(absl::string_view(text)).data(), text.data());
  EXPECT_EQ(ToStd(ToAbsl(text)), std::string_view(text));
}

TEST(TextTest, PrintsNumbersAsShortAsReadsBack) {
  EXPECT_EQ(ShortestText(0.1), "0.1");
  EXPECT_EQ(ShortestText(3), "3");
  EXPECT_EQ(ShortestText(1e300), "1e+300");
  EXPECT_EQ(ShortestText(-std::numeric_limits<double>::min()),
            "-2.2250738585072014e-308");
  EXPECT_EQ(ShortestText(std::nan("")), "nan");
  EXPECT_EQ(ShortestText(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace millrace::base
