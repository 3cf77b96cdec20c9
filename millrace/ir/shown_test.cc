#include "millrace/ir/shown.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

#include "millrace/base/utf8.h"

namespace millrace::ir {
namespace {

TEST(ShownTest, PlainTextStaysAsItIs) {
  EXPECT_EQ(Shown(""), "");
  EXPECT_EQ(Shown("image.pixels 2"), "image.pixels 2");
  EXPECT_EQ(Shown("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(ShownTest, WhatCannotBePrintedIsEscaped) {
  EXPECT_EQ(Shown("a\nb"), "a\\nb");
  EXPECT_EQ(Shown(std::string_view("\0\x01", 2)), "\\000\\001");
  EXPECT_EQ(Shown("a\"b"), "a\\\"b");
}

TEST(ShownTest, BytesThatAreNoTextAreEscaped) {
  EXPECT_EQ(Shown("\xff"
                  "gr\xc3\xbc"),
            "\\xffgr\\xc3\\xbc");
}

TEST(ShownTest, LongTextIsCut) {
  EXPECT_EQ(Shown(std::string(64, 'a')), std::string(64, 'a'));
  EXPECT_EQ(Shown(std::string(65, 'a')), std::string(64, 'a') + "...");
  EXPECT_EQ(Shown(std::string(100'000, 'a')), std::string(64, 'a') + "...");
}

TEST(ShownTest, TheCutIsNotInsideACharacter) {
  for (int before = 58; before < 66; ++before) {
    std::string text(before, 'a');
    for (int i = 0; i < 10; ++i) text += "\xf0\x9f\x98\x80";
    const std::string shown = Shown(text);
    EXPECT_TRUE(base::IsUtf8(shown)) << before;
    EXPECT_EQ(shown.find('\\'), std::string::npos) << before;
    EXPECT_LE(shown.size(), 67);
  }
}

TEST(ShownTest, QuotesTellWhereATextBeginsAndEnds) {
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted(" a\"\n"), "\" a\\\"\\n\"");
  EXPECT_TRUE(Quoted(std::string(100, 'x')).ends_with("x...\""));
}

TEST(ShownTest, LongBytesStayShortAndReadable) {
  const std::string shown = Shown(std::string(1'000'000, '\x80'));
  EXPECT_LE(shown.size(), 64 * 4 + 3);
  EXPECT_TRUE(shown.ends_with("\\x80..."));
}

}  // namespace
}  // namespace millrace::ir
