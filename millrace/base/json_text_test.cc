#include "millrace/base/json_text.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/utf8.h"

namespace millrace::base {
namespace {

TEST(JsonTextTest, QuotesPlainText) {
  EXPECT_EQ(JsonText(""), R"("")");
  EXPECT_EQ(JsonText("a lane / 7"), R"("a lane / 7")");
}

TEST(JsonTextTest, EscapesWhatJsonReserves) {
  EXPECT_EQ(JsonText("say \"no\" \\ yes"), R"("say \"no\" \\ yes")");
  EXPECT_EQ(JsonText("a\nb\tc\rd"), R"("a\nb\tc\rd")");
  EXPECT_EQ(JsonText(std::string("\0\x01\x1f\x7f", 4)),
            R"("\u0000\u0001\u001f\u007f")");
}

TEST(JsonTextTest, KeepsUtf8) {
  for (const char* text : {"é", "水", "🌊", "\u07ff\u0800\uffff"}) {
    EXPECT_EQ(JsonText(text), std::string("\"") + text + "\"");
  }
}

TEST(JsonTextTest, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(JsonText("a\xff z"), R"("a\ufffd z")");
  EXPECT_EQ(JsonText("\x80"), R"("\ufffd")");                      // Continues nothing.
  EXPECT_EQ(JsonText("\xe6\xb0"), R"("\ufffd\ufffd")");            // Cut short.
  EXPECT_EQ(JsonText("\xc0\xaf"), R"("\ufffd\ufffd")");            // Overlong.
  EXPECT_EQ(JsonText("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");  // A surrogate.
  EXPECT_EQ(JsonText("\xf4\x90\x80\x80"),
            R"("\ufffd\ufffd\ufffd\ufffd")");  // Too large.
  EXPECT_EQ(JsonText("\xc3("), R"("\ufffd(")");
}

// A reader for the few escapes that JsonText writes.
std::string Unquoted(std::string_view quoted) {
  std::string text;
  quoted = quoted.substr(1, quoted.size() - 2);
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      text += quoted[i];
    } else if (quoted[++i] == 'u') {
      text +=
          static_cast<char>(std::stoi(std::string(quoted.substr(i + 1, 4)), {}, 16));
      i += 4;
    } else {
      const size_t letter = std::string_view("ntr").find(quoted[i]);
      text += letter == std::string_view::npos ? quoted[i] : "\n\t\r"[letter];
    }
  }
  return text;
}

TEST(JsonTextTest, EveryAsciiCharacterReadsBack) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  EXPECT_EQ(Unquoted(JsonText(all)), all);
}

TEST(JsonTextTest, IsValidWhateverTheBytes) {
  Generator generator(RandomKey(1, 0, 0), {});
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes;
    for (int64_t i = generator.Integer(0, 40); i > 0; --i) {
      bytes += static_cast<char>(generator.Integer(0, 256));
    }
    const std::string quoted = JsonText(bytes);
    EXPECT_TRUE(IsUtf8(quoted));
    for (const char c : quoted) EXPECT_FALSE(c >= 0 && c < 0x20);
    if (IsUtf8(bytes)) {
      EXPECT_EQ(Unquoted(quoted), bytes);
    }
  }
}

}  // namespace
}  // namespace millrace::base
