#include "millrace/base/utf8.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace millrace::base {
namespace {

TEST(Utf8Test, AcceptsCharactersOfEveryLength) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8(std::string_view("\0\x7f", 2)));
  EXPECT_TRUE(IsUtf8("\xc2\x80 \xdf\xbf"));                  // U+80, U+7FF
  EXPECT_TRUE(IsUtf8("\xe0\xa0\x80 \xef\xbf\xbf"));          // U+800, U+FFFF
  EXPECT_TRUE(IsUtf8("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"));  // U+10000, U+10FFFF
  EXPECT_TRUE(IsUtf8("\xed\x9f\xbf \xee\x80\x80"));          // Around surrogates.
}

TEST(Utf8Test, RefusesWhatIsNoCharacter) {
  for (const std::string_view wrong : {
           "\x80",              // Begins in the middle.
           "\xff",              // Never occurs.
           "\xc3",              // Cut off.
           "\xe2\x82",          // Cut off.
           "\xc3(",             // The second byte belongs to nothing.
           "\xc0\x80",          // Overlong.
           "\xe0\x9f\xbf",      // Overlong.
           "\xf0\x8f\xbf\xbf",  // Overlong.
           "\xed\xa0\x80",      // A surrogate.
           "\xf4\x90\x80\x80",  // Beyond the last.
           "\xf8\x88\x80\x80\x80",
       }) {
    EXPECT_EQ(ValidUtf8Size(wrong), 0) << wrong;
    EXPECT_FALSE(IsUtf8(std::string("a") + std::string(wrong)));
  }
}

TEST(Utf8Test, FindsTheFirstWrongByteWhereverItStands) {
  for (size_t place = 0; place < 40; ++place) {
    std::string text(40, 'a');
    text[place] = '\xff';
    EXPECT_EQ(ValidUtf8Size(text), place);
    text.replace(place, 1, "\xe2\x82\xac");
    EXPECT_EQ(ValidUtf8Size(text), text.size()) << place;
    EXPECT_EQ(ValidUtf8Size(text.substr(0, place + 2)), place);
  }
}

TEST(Utf8Test, TellsHowFarATextIsValid) {
  EXPECT_EQ(ValidUtf8Size("abc"), 3);
  EXPECT_EQ(ValidUtf8Size("gr\xc3\xbc\xc3"), 4);
  EXPECT_EQ(ValidUtf8Size("ab\xff"
                          "cd"),
            2);
}

}  // namespace
}  // namespace millrace::base
